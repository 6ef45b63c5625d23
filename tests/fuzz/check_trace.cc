#include "tests/fuzz/check_trace.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "tests/fuzz/reused_store.h"

namespace stepscope::fuzz {
namespace {

using nlohmann::json;
using TrackKey = std::pair<std::int64_t, std::int64_t>;

// Microseconds with three decimals as nanoseconds. A double holds those of a month exactly; beyond
// it some fall together, which neither tears nests apart nor moves arrows off their slices.
std::int64_t ns_of(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}
constexpr std::int64_t kExact = std::int64_t{1} << 51;

struct Slice {
  std::int64_t start = 0;
  std::int64_t end = 0;
};
struct Arrow {
  int tails = 0;
  int heads = 0;
};

class TraceCheck {
 public:
  void add(const json& event) {
    const std::string kind = event.at("ph");
    if (kind == "X") {
      const std::int64_t start = ns_of(event.at("ts"));
      const std::int64_t dur = ns_of(event.at("dur"));
      require(start >= 0 && dur >= 0, "no slice begins or lasts less than nothing");
      slices_[key_of(event)].push_back({start, start + dur});
    } else if (kind == "s" || kind == "f") {
      Arrow& arrow =
          arrows_[event.at("cat").get<std::string>() + event.at("id").get<std::string>()];
      ++(kind == "s" ? arrow.tails : arrow.heads);
      ends_.push_back({key_of(event), ns_of(event.at("ts"))});
    }
  }

  void finish() {
    for (auto& [track, slices] : slices_) check_nesting(slices);
    for (const auto& [id, arrow] : arrows_)
      require(arrow.tails == 1 && arrow.heads == 1, "an arrow has two ends");
    for (const auto& [track, at] : ends_) {
      const auto& slices = slices_[track];
      const std::int64_t ts = at;
      require(std::any_of(slices.begin(), slices.end(),
                          [ts](const Slice& s) { return s.start == ts && s.end >= ts; }),
              "an arrow begins and ends at a slice");
    }
  }

 private:
  static TrackKey key_of(const json& event) { return {event.at("pid"), event.at("tid")}; }

  // As viewers read them: a stable sort by start, then a stack.
  static void check_nesting(std::vector<Slice>& slices) {
    std::ranges::stable_sort(slices, {}, &Slice::start);
    std::vector<std::int64_t> open;
    for (const Slice& slice : slices) {
      if (slice.end > kExact) return;
      while (!open.empty() && open.back() <= slice.start) open.pop_back();
      require(open.empty() || slice.end <= open.back(), "slices of a track nest");
      if (slice.end > slice.start) open.push_back(slice.end);
    }
  }

  std::map<TrackKey, std::vector<Slice>> slices_;
  std::map<std::string, Arrow> arrows_;
  std::vector<std::pair<TrackKey, std::int64_t>> ends_;
};

}  // namespace

void check_trace(const std::string& text) {
  const json trace = json::parse(text, nullptr, false);
  require(!trace.is_discarded(), "a trace is JSON");
  TraceCheck check;
  for (const json& event : trace.at("traceEvents")) check.add(event);
  check.finish();
}

}  // namespace stepscope::fuzz
