// The latest steps of a run that is being recorded, as a small analyzed store that `stepscope lake
// add` takes: a piece of the run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

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

  // Takes the steps that have ended since the last frame. Loops whose steps are inferred have no
  // lasting step numbers, so they are left out.
  void add(const LiveFrame& frame);
  [[nodiscard]] std::size_t size() const { return news_.steps.size(); }
  // Writes the steps since the last clear(), and the lines and verdicts of the latest frame. A loop
  // without a new step has its last one again, so that each piece has all loops of the run. `run`:
  // the recording that the frames are from. Errors: kIo.
  Status write(const std::filesystem::path& path, const TraceTail& run) const;
  void clear() { news_.steps.clear(); }

 private:
  const std::filesystem::path store_;
  std::map<ThreadId, Step> last_;  // of each loop
  Analysis news_;
};

}  // namespace stepscope
