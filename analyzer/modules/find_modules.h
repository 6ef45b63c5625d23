// The time that the modules of a loop's model (torch.nn.Module) took in its steps. docs/modules.md
// states the rules.
#pragma once

#include <map>
#include <vector>

#include "analyzer/attribute/attribute.h"
#include "analyzer/recording.h"
#include "analyzer/report.h"
#include "analyzer/steps/find_loops.h"
#include "store/status.h"

namespace stepscope {

// The calls of modules of a recording, in memory: those of a thread by start, callers first.
class ModuleHistory {
 public:
  // For a longer recording, the rest is left out.
  static constexpr std::size_t kMaxCalls = 4'000'000;

  // Fails only when reading the store fails.
  static Result<ModuleHistory> read(const RecordedRun& recording);

  [[nodiscard]] bool empty() const { return calls_.empty(); }
  [[nodiscard]] const ModuleCalls& calls() const { return calls_; }

 private:
  ModuleCalls calls_;
};

// Fills report.modules from the steps of `report` that have ops (op_steps). `loops`: all of the
// recording. Reads the ops once; without calls it does nothing. Fails only when reading fails.
Status find_modules(const RecordedRun& recording, const std::vector<Loop>& loops,
                    const ModuleHistory& history, LoopReport& report);

}  // namespace stepscope
