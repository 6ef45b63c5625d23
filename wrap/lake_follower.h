// `stepscope run --lake DIR`: adds the steps of a run to a lake while it is being recorded, so that
// a run that dies has its steps up to the last minute in the lake. With `--watch-lake`, the lake
// also says which ranks of this node have become slow.
//
// The thread that follows the store starts the Python part for each piece. An error has no effect
// on the run.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/live/live_follower.h"
#include "store/mutex.h"
#include "store/status.h"
#include "store/temporary_folder.h"
#include "wrap/step_pieces.h"

namespace stepscope {

struct LakePlan {
  std::string lake;
  std::chrono::milliseconds period{60'000};  // from one piece to the next
  double watch_s = 0;  // a rank is slow after this long; 0: the lake is not watched
};

// Thread safety: for one thread. From start() on, it has its own thread.
class LakeFollower {
 public:
  explicit LakeFollower(LakePlan plan);

  // Call after the program was started, because that is a fork(). Errors: kIo.
  Status start();
  // From now on, the recording is in this store. Only the first call counts.
  void follow(const std::filesystem::path& store) { follower_.follow(store); }
  // The ranks of this node that have become slow, each returned once.
  std::vector<std::int64_t> take_slow_ranks();
  // Why the first piece could not be added; returned once, else "".
  std::string take_problem();
  // Call before the recorder closes the store: a reader would keep it from being folded into one
  // file. Waits for a piece that is being added.
  void stop();

 private:
  Status take(const LiveFrame& frame);
  Status add_piece();
  void keep_problem(const Status& status);

  const LakePlan plan_;
  Mutex mutex_;
  bool problem_was_taken_ STEPSCOPE_GUARDED_BY(mutex_) = false;
  std::vector<std::int64_t> slow_ranks_ STEPSCOPE_GUARDED_BY(mutex_);
  std::string problem_ STEPSCOPE_GUARDED_BY(mutex_);
  // Only the follower's thread uses these.
  std::optional<TemporaryFolder> folder_;  // of the pieces
  std::optional<StepPieces> pieces_;
  std::chrono::steady_clock::time_point next_;  // when the next piece is due
  LiveFollower follower_;                       // last: its thread uses the others
};

}  // namespace stepscope
