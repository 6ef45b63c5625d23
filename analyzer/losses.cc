#include "analyzer/losses.h"

#include <algorithm>
#include <array>
#include <map>

#include "analyzer/words.h"

namespace stepscope {
namespace {

struct KindWords {
  std::string_view kind, one, many;
};

constexpr std::array kKinds = {
    KindWords{"op", "op", "ops"},
    KindWords{"phase", "phase", "phases"},
    KindWords{"name", "name of an op", "names of ops"},
    KindWords{"depth", "op that was nested too deeply", "ops that were nested too deeply"},
    KindWords{"thread", "thread without a buffer", "threads without a buffer"},
    KindWords{"failure", "event for want of memory", "events for want of memory"},
    KindWords{"corrupt", "event that made no sense", "events that made no sense"},
    KindWords{"unwritten", "event that could not be written", "events that could not be written"},
    KindWords{"late_op", "op that was stored too late", "ops that were stored too late"},
    KindWords{"kernel", "kernel", "kernels"},
    KindWords{"sample", "sample", "samples"},
    KindWords{"device_record", "device activity", "device activities"},
    KindWords{"device_name", "name of a kernel", "names of kernels"},
    KindWords{"bad_event", "event that made no sense", "events that made no sense"},
    KindWords{"correlation", "link to what was launched", "links to what was launched"},
    KindWords{"overlap", "op that was cut short", "ops that were cut short"},
    KindWords{"unread", "rest of a broken file", "rests of broken files"},
};

}  // namespace

std::string loss_text(std::string_view kind, std::int64_t count) {
  const auto* const words = std::find_if(
      kKinds.begin(), kKinds.end(), [kind](const KindWords& each) { return each.kind == kind; });
  const std::string number = count_text(count) + " ";
  if (words != kKinds.end()) return number + std::string(count == 1 ? words->one : words->many);
  return number + (count == 1 ? "event" : "events") + " of the kind " + in_quotes(kind);
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
