// A program's own stopwatch: when it waited for a batch and when its optimizer stepped. The C++
// side of tests/python/programs/own.py: what Stepscope says of a program is compared with what the
// program itself saw, so this knows nothing of Stepscope.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace own {

using Clock = std::chrono::steady_clock;

// Thread safety: none; one thread's.
class Stopwatch {
 public:
  // Runs `get`, which says whether a batch came, and times it.
  template <typename Get>
  bool fetch(Get get) {
    const auto begin = now();
    const bool came = get();
    (came ? waits_ : exhausted_).emplace_back(begin, now());
    return came;
  }

  // Runs `step`, timed as an update of the parameters.
  template <typename Step>
  void update(Step step) {
    const auto begin = now();
    step();
    updates_.emplace_back(begin, now());
  }

  // Runs `work`, timed as something that is no training: "evaluation", "checkpoint".
  template <typename Work>
  void segment(const char* name, Work work) {
    const auto begin = now();
    work();
    segments_[name].emplace_back(begin, now());
  }

  // Writes {"pid", "tid", "waits": [[begin, end], …], "updates": […], "exhausted": […], "segments":
  // {"evaluation": […]}}; nothing when `path` is empty.
  void save(const std::string& path) const {
    if (path.empty()) return;
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return std::perror(path.c_str());
    std::fprintf(file, "{\"pid\": %d, \"tid\": %d", getpid(), gettid());
    write(file, "waits", waits_);
    write(file, "updates", updates_);
    write(file, "exhausted", exhausted_);
    std::fputs(", \"segments\": {\"\": []", file);
    for (const auto& [name, stretches] : segments_) write(file, name, stretches);
    std::fputs("}}\n", file);
    std::fclose(file);
  }

 private:
  using Stretch = std::pair<long long, long long>;

  static long long now() {
    return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
  }
  static void write(std::FILE* file, const std::string& name,
                    const std::vector<Stretch>& stretches) {
    std::fprintf(file, ", \"%s\": [", name.c_str());
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      std::fprintf(file, "%s[%lld, %lld]", i == 0 ? "" : ", ", stretches[i].first,
                   stretches[i].second);
    }
    std::fputs("]", file);
  }

  std::vector<Stretch> waits_;
  std::vector<Stretch> updates_;
  std::vector<Stretch> exhausted_;
  std::map<std::string, std::vector<Stretch>> segments_;
};

}  // namespace own
