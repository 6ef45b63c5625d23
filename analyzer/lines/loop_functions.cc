#include "analyzer/lines/loop_functions.h"

#include "analyzer/report.h"

namespace stepscope {
namespace {

constexpr double kMost = 0.5;  // of the samples of a part

using Function = std::pair<StringId, StringId>;  // its file and its name

std::set<Function> functions_on(FrameId innermost, const OwnCode& code) {
  std::set<Function> functions;
  for (FrameId id = innermost; id != FrameId::kNone; id = code.frame(id).caller)
    functions.emplace(code.frame(id).file, code.frame(id).function);
  return functions;
}

}  // namespace

std::set<Function> LoopFunctions::find(const OwnCode& code) const {
  std::map<Function, int> parts;
  for (const auto& samples : samples_) {
    std::map<Function, std::int64_t> seen;
    std::int64_t all = 0;
    for (const auto& [innermost, count] : samples) {
      all += count;
      for (const Function& function : functions_on(innermost, code)) seen[function] += count;
    }
    if (all < LineUse::kFewest) continue;
    for (const auto& [function, count] : seen)
      parts[function] += static_cast<double>(count) >= kMost * static_cast<double>(all) ? 1 : 0;
  }
  std::set<Function> found;
  for (const auto& [function, count] : parts) {
    if (count >= 2) found.insert(function);
  }
  return found;
}

}  // namespace stepscope
