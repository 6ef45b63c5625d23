#include "viewer-export/report/input_waits.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBinsAnOctave = 4;
constexpr std::size_t kLongest = 8;

struct Wait {
  std::int64_t dur = 0;
  std::int64_t cpu = 0;
  std::int64_t step = 0;
};

std::int64_t bin_of(std::int64_t ns) {
  return ns < 1 ? 0 : static_cast<std::int64_t>(std::floor(std::log2(ns) * kBinsAnOctave));
}

// Nearest rank, of waits in order.
std::int64_t percentile(const std::vector<Wait>& waits, double fraction) {
  const auto rank =
      static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(waits.size())));
  return waits[std::max<std::size_t>(rank, 1) - 1].dur;
}

Json histogram_json(const std::vector<Wait>& waits) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const Wait& wait : waits) ++counts[bin_of(wait.dur)];
  Json bins = Json::array();
  for (const auto& [bin, count] : counts) bins.push_back({bin, count});
  return bins;
}

Json loader_json(const std::string& name, std::vector<Wait> waits) {
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait& a, const Wait& b) { return a.dur < b.dur; });
  std::int64_t total = 0, busy = 0;
  for (const Wait& wait : waits) {
    total += wait.dur;
    busy += std::min(wait.cpu, wait.dur);
  }
  Json longest = Json::array();
  for (std::size_t i = 0; i < std::min(kLongest, waits.size()); ++i) {
    const Wait& wait = waits[waits.size() - 1 - i];
    longest.push_back({wait.step, wait.dur, std::min(wait.cpu, wait.dur)});
  }
  return {{"loader", name},
          {"waits", waits.size()},
          {"wait_ns", total},
          {"busy_ns", busy},
          {"p50_ns", percentile(waits, 0.5)},
          {"p90_ns", percentile(waits, 0.9)},
          {"max_ns", waits.back().dur},
          {"bins", histogram_json(waits)},
          {"longest", longest}};
}

}  // namespace

Json input_waits_json(const TraceReader& reader, const ReportLoop& loop,
                      const std::vector<Phase>& phases) {
  std::map<std::string, std::vector<Wait>> waits;
  auto step = loop.analysed.begin();
  // By thread, and then start.
  auto next = std::partition_point(phases.begin(), phases.end(),
                                   [&](const Phase& p) { return p.thread < loop.thread; });
  for (; next != phases.end() && next->thread == loop.thread; ++next) {
    const Phase& phase = *next;
    if (phase.kind != PhaseKind::kInput) continue;
    while (step != loop.analysed.end() && (*step)->start + (*step)->dur <= phase.start) ++step;
    if (step == loop.analysed.end()) break;
    if (phase.start < (*step)->start) continue;
    waits[std::string(reader.text(phase.name))].push_back(
        {to_ns(phase.dur), to_ns(phase.cpu), (*step)->number});
  }
  Json loaders = Json::array();
  for (auto& [name, list] : waits) loaders.push_back(loader_json(name, std::move(list)));
  return loaders;
}

}  // namespace stepscope
