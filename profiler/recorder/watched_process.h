// One process of a program under `stepscope run`, from its arrival to its end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/channel/listener.h"
#include "profiler/recorder/counter_samples.h"
#include "profiler/recorder/proc_samples.h"
#include "profiler/recorder/process_drain.h"
#include "profiler/recorder/store_session.h"
#include "profiler/ring/region.h"
#include "store/events.h"
#include "store/status.h"

namespace stepscope {

// Thread safety: none; used by its recorder. Nothing that the process writes into its region is
// trusted without a check.
struct WatchedProcess {
  // Owns the region of `arrival` from now on. `backlog`: see ProcessDrain. If this throws, nothing
  // has changed.
  WatchedProcess(const Listener::Arrival& arrival, ProcessId process, StoreSession& session,
                 std::shared_ptr<RingBacklog> backlog);
  ~WatchedProcess();
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;

  // Whether the process is over according to the system; `ended` is set once its end is stored.
  [[nodiscard]] bool is_over() const;
  // Sends the heartbeat, and reads what the process says about itself.
  void look();
  // "": not known yet, or it has no libtorch.
  [[nodiscard]] std::string torch_version() const;
  // Lines for the user, each returned once. `ring_capacity`: that of its region when the recorder
  // made it.
  std::vector<std::string> take_notices(std::uint32_t ring_capacity);
  // Whether it has turned out that the process is not recorded at all; true only once.
  bool take_unrecorded();
  // Drains what the process left, stores how it ended, and releases its files and the memory of its
  // rings: thousands of processes may come and go in a recording.
  Status store_end(StoreSession& session, EndKind how, std::int64_t code);

  pid_t pid;
  std::int64_t rank;  // -1: none
  OwnedFd pidfd;
  Region region;                            // empty: the process has ended
  std::optional<ProcessCounters> counters;  // nothing: the process has ended
  OomCounter oom;
  std::int64_t oom_kills_before;
  ProcessDrain& drain;             // owned by the session
  std::int64_t first_step_ns = 0;  // CLOCK_MONOTONIC when a step was first seen; 0: none yet
  std::int64_t last_step_ns = 0;   // when the number of steps last changed; 0: never
  std::int64_t step = 0;
  TorchSwitch cudnn_benchmark = TorchSwitch::kUnknown;
  bool ended = false;

 private:
  std::string limit_notice(std::uint32_t rings) const;
  void unmap();

  std::uint64_t looks_ = 1;  // at its rings; the listener counted the first one
  bool told_of_limits_ = false;
  bool told_of_device_ = false;
  bool told_notice_ = false;
  bool counted_as_unrecorded_ = false;
};

}  // namespace stepscope
