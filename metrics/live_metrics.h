// The live metrics of a run that is being recorded: reads the store as `stepscope top` does, and
// serves and pushes what it says. For the process that records, never for the program.
//
// It reads what was added to the store every few seconds, at a low priority, in a thread of its
// own, and takes at most a fiftieth of a core. Whatever goes wrong ends the metrics and nothing
// else.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "metrics/latest_metrics.h"
#include "metrics/listen_address.h"
#include "metrics/otlp_push.h"
#include "metrics/run_metrics.h"
#include "metrics/scrape_server.h"
#include "store/mutex.h"

namespace stepscope {

struct MetricsPlan {
  std::optional<ListenAddress> listen;
  std::optional<OtlpSettings> otlp;
  RunIdentity identity;
  std::string version;  // Stepscope's
  std::chrono::milliseconds interval{5000};
};

// Thread safety: one thread. It has threads of its own, from start() on.
class LiveMetrics {
 public:
  // Listens, if that is planned. What is not possible becomes a line of `problems`; null if nothing
  // is left.
  static std::unique_ptr<LiveMetrics> open(const MetricsPlan& plan,
                                           std::vector<std::string>& problems);
  ~LiveMetrics();

  // Where it listens; nothing if it does not.
  [[nodiscard]] std::optional<ListenAddress> address() const;

  // Starts the threads: after the program was started, which is a fork(). Errors: kIo.
  Status start();
  // The recording is in this store from now on. Only the first call counts.
  void follow(const std::filesystem::path& store);
  // Before the recorder closes the store: a reader would keep it from being folded into one file.
  void stop_reading();
  // After the recorder closed the store. Pushes the totals of the whole run, and returns lines for
  // the user, about what went wrong.
  std::vector<std::string> finish();

 private:
  explicit LiveMetrics(const MetricsPlan& plan);
  void run();
  void read_the_end();
  // Both: false if it is time to stop.
  bool wait_for_store();
  bool wait(std::chrono::milliseconds duration);
  Status refresh();

  const MetricsPlan plan_;
  LatestMetrics latest_;
  std::unique_ptr<ScrapeServer> server_;
  std::unique_ptr<OtlpPush> push_;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  ConditionVariable changed_;
  std::filesystem::path followed_ STEPSCOPE_GUARDED_BY(mutex_);
  // Of the thread until it has ended.
  std::filesystem::path store_;
  RunMetrics metrics_;
  std::unique_ptr<LiveRun> run_;
  Status failure_;
  std::thread thread_;
};

}  // namespace stepscope
