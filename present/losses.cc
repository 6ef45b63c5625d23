#include "present/losses.h"

#include <algorithm>
#include <array>
#include <map>

#include "analyzer/words.h"
#include "store/loss_kinds.h"

namespace stepscope {
namespace {

struct KindWords {
  std::string_view kind, one, many;
};

constexpr std::array kKinds = {
    KindWords{"op", "op", "ops"},
    KindWords{"phase", "phase", "phases"},
    KindWords{"name", "op name", "op names"},
    KindWords{"depth", "op nested too deeply", "ops nested too deeply"},
    KindWords{"thread", "thread without a buffer", "threads without a buffer"},
    KindWords{"failure", "event due to lack of memory", "events due to lack of memory"},
    KindWords{"corrupt", "malformed event", "malformed events"},
    KindWords{kUnrecordedProcess, "process not recorded", "processes not recorded"},
    KindWords{kOutlivingProcess, "process left running", "processes left running"},
    KindWords{"unwritten", "event that could not be written", "events that could not be written"},
    KindWords{"late_op", "op stored too late", "ops stored too late"},
    KindWords{"kernel", "kernel", "kernels"},
    KindWords{"sample", "counter reading", "counter readings"},
    KindWords{"device_record", "device activity", "device activities"},
    KindWords{"device_name", "kernel name", "kernel names"},
    KindWords{"bad_event", "malformed event", "malformed events"},
    KindWords{"correlation", "launch correlation", "launch correlations"},
    KindWords{"overlap", "truncated op", "truncated ops"},
    KindWords{"incomplete", "event that is not complete", "events that are not complete"},
    KindWords{"unread", "remainder of a damaged file", "remainders of damaged files"},
};

}  // namespace

std::string loss_text(std::string_view kind, std::int64_t count) {
  const auto* const words = std::find_if(
      kKinds.begin(), kKinds.end(), [kind](const KindWords& each) { return each.kind == kind; });
  const std::string number = count_text(count) + " ";
  if (words != kKinds.end()) return number + std::string(count == 1 ? words->one : words->many);
  return number + (count == 1 ? "event" : "events") + " of kind " + in_quotes(kind);
}

std::string losses_text(const std::vector<Loss>& losses, bool incomplete) {
  std::map<std::string, std::int64_t> kinds;
  for (const Loss& loss : losses) kinds[loss.kind] += loss.count;
  std::string text;
  for (const auto& [kind, count] : kinds) {
    if (count > 0) text += (text.empty() ? "lost: " : ", ") + loss_text(kind, count);
  }
  if (!text.empty()) return text;
  return incomplete ? "incomplete" : "nothing lost";
}

}  // namespace stepscope
