// How much of the step time threads were ready to run and had no core, and who took the cores.
//
// Starvation is no category: like memory pressure it slows down compute, input and everything else.
// docs/attribution.md, "Starved threads", states the rules.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/facts/evidence.h"
#include "store/analysis.h"

namespace stepscope {

// What a thread did in a stretch of time, in ns or as shares.
struct ScheduleSplit {
  double running = 0;
  double starved = 0;
  double blocked = 0;

  [[nodiscard]] double sum() const { return running + starved + blocked; }
};

// The loop thread, in mean ns per step.
struct PhaseSchedule {
  ScheduleSplit input, forward, backward, optimizer, other;
};

// A thread other than the loop's: shares of the time of the analysed steps.
struct ThreadShares {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::string name;
  ScheduleSplit shares;
  std::int64_t cores = 0;  // cores that it may run on; 0: unknown
};

// A thread counts as busy when it is ready to run for this share of the time.
inline constexpr double kBusyThread = 0.2;

// Who had the cores that starved threads waited for.
enum class CoreTaker : std::uint8_t {
  kUnknown,
  kOwnThreads,  // more of the program's threads were ready than there are cores
  kQuota,       // a CPU quota of the control group
  kPinning,     // threads were tied to some cores while other cores were idle
  kOthers,      // other programs, or the hypervisor
};

struct CoreUse {
  CoreTaker taker = CoreTaker::kUnknown;
  double available = 0;        // cores that the loop's process may use; 0: unknown
  double allowed = 0;          // the same without a quota
  double quota = 0;            // cores; 0: none
  double throttled = 0;        // share of the time in which the quota held the group back
  double own = 0;              // cores that the program's threads used
  double own_ready = 0;        // cores that they could have used
  std::int64_t own_busy = 0;   // threads that were ready for a fifth of the time or more
  double others = 0;           // cores that other programs used; 0: unknown or none
  double stolen = 0;           // cores that the hypervisor gave to others
  double idle = 0;             // cores that nobody used
  std::int64_t pinned_to = 0;  // number of cores, for kPinning
};

struct Starvation {
  bool known = false;
  // The share of the analysed steps' time that would disappear if each ready thread had a core.
  double share = 0;
  double loop_share = 0;           // the loop thread's own
  double pool_share = 0;           // of threads that compute for it; 0: none
  double worker_share = 0;         // of waits for workers that were starved
  std::vector<double> starved_ns;  // of each step of the loop; empty: unknown
  PhaseSchedule phases;
  std::vector<ThreadShares> pool;     // the most starved first
  std::vector<ThreadShares> workers;  // the same
  CoreUse cores;
  // The shares of the loop without starved time, for the verdict. They sum to less than 1.
  std::array<double, kCategoryCount> net{};
  std::vector<EvidenceFact> evidence;
};

}  // namespace stepscope
