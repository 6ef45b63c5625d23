// The latest steps of a run that is being recorded, as a small analyzed store that `stepscope lake
// add` takes: a piece of the run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/live/live_run.h"
#include "store/analysis.h"
#include "store/status.h"
#include "store/trace_tail.h"

namespace stepscope {

// The key of a piece's `meta` with the path of the whole store.
inline constexpr const char* kPieceOfMeta = "piece_of";

// Thread safety: none.
class StepPieces {
 public:
  // `store`: that of the whole run.
  explicit StepPieces(std::filesystem::path store) : store_(std::move(store)) {}

  // Takes the steps that have ended since the last frame. A loop whose steps are inferred has no
  // lasting step numbers, because each frame divides the latest ops anew: all steps of the frame
  // replace the earlier ones of the loop. Such a loop counts only as long as its process has no
  // other one.
  void add(const LiveFrame& frame);
  // The new steps with lasting numbers.
  [[nodiscard]] std::size_t size() const { return news_.steps.size(); }
  [[nodiscard]] bool empty() const { return news_.steps.empty() && !inferred_are_new_; }
  // Writes the steps since the last clear(), and the lines and verdicts of the latest frame. A loop
  // without a new step has its last one again, so that each piece has all loops of the run. `run`:
  // the recording that the frames are from. Errors: kIo.
  Status write(const std::filesystem::path& path, const TraceTail& run) const;
  void clear() {
    news_.steps.clear();
    inferred_are_new_ = false;
  }

 private:
  const std::filesystem::path store_;
  struct InferredLoop {
    ProcessId process = ProcessId::kNone;
    std::vector<Step> steps;  // of the latest frame that has any
  };

  std::map<ThreadId, Step> last_;  // of each loop with lasting numbers
  std::set<ProcessId> numbered_;   // the processes of these loops
  std::map<ThreadId, InferredLoop> inferred_;
  bool inferred_are_new_ = false;
  Analysis news_;
};

}  // namespace stepscope
