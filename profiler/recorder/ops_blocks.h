// Records the ops of single processes for a block of steps, while the others go on as planned: for
// a rank that has become slow (`stepscope run --watch-lake`).
//
// A block only sets the switch in the process's shared memory, which the process reads at its next
// phase, so no step waits for anything.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profiler/ring/region_format.h"
#include "store/time.h"

namespace stepscope {

// The key of `meta` for text().
inline constexpr const char* kOpsBlocksMeta = "ops_blocks";

// Thread safety: none.
class OpsBlocks {
 public:
  // A block ends when it has both this many steps and this length, and at the latest after
  // kMaxLength.
  static constexpr std::int64_t kSteps = 10;
  static constexpr std::chrono::seconds kMinLength{20};
  static constexpr std::chrono::seconds kMaxLength{300};

  // A running process.
  struct Process {
    pid_t pid = 0;
    std::int64_t rank = -1;
    std::int64_t step = 0;                         // that its loop is in
    std::atomic<OpsSwitch>* ops_switch = nullptr;  // in its shared memory
  };

  // Begins a block. Does nothing if the process is in one.
  void begin(const Process& process, SessionTime now);
  // Ends the blocks that are long enough, and those of processes that do not run any more. Sets the
  // switch of a process that runs back to `usual`. Returns whether a block ended.
  bool end_due(std::span<const Process> running, OpsSwitch usual, SessionTime now);

  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  [[nodiscard]] bool all_over() const;
  // RANK:BEGIN-END of each block, in ns of the session: "5:61000000000-81000000000". A block that
  // is not over has no END.
  [[nodiscard]] std::string text() const;

 private:
  struct Block {
    pid_t pid = 0;
    std::int64_t rank = -1;
    std::int64_t first_step = 0;
    SessionTime begin;
    SessionTime end;
    bool over = false;
  };
  static bool is_long_enough(const Block& block, std::int64_t step, SessionTime now);

  std::vector<Block> blocks_;
};

}  // namespace stepscope
