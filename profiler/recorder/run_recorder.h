// The recorder of `stepscope run`: accepts every process of the wrapped program that connects,
// drains its rings and reads its counters into one store, and records how each ended.
//
// Its owner calls wait(), then tick(), in a loop. Thread safety: none; one thread. Invariants:
// nothing that a program does makes it fail, and once the program runs, nothing here throws,
// because the owner must live until the program's end. If the store cannot be written any more, or
// memory runs out, it stops recording, keeps failure(), and continues to answer requests
// (recorder/store_session.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "profiler/channel/listener.h"
#include "profiler/recorder/gpu_sampler.h"
#include "profiler/recorder/ops_blocks.h"
#include "profiler/recorder/other_cpus.h"
#include "profiler/recorder/proc_samples.h"
#include "profiler/recorder/ring_collector.h"
#include "profiler/recorder/run_description.h"
#include "profiler/recorder/stack_recording.h"
#include "profiler/recorder/store_session.h"
#include "profiler/recorder/thread_watch.h"
#include "profiler/recorder/unjoined_processes.h"
#include "profiler/recorder/watched_process.h"
#include "profiler/session/recorder_library.h"
#include "store/status.h"

namespace stepscope {

struct RunPlan {
  RecordPlan record{};
  std::size_t ring_bytes = 0;              // 0: the default
  std::string nvml = "libnvidia-ml.so.1";  // NVIDIA's management library, for dlopen()
  // Folders that may contain the program's source: the state of the first one that lies in a git
  // repository is recorded.
  std::vector<std::filesystem::path> source_folders{};
  // An earlier recording stays in place until a process connects, and for good if none does.
  bool replace_late = false;
  // How often per second the current line of a loop is sampled (stack_sampler.h). 0: never.
  int lines_rate = StackSampler::kDefaultRate;
};

// For progress displays.
struct RunProgress {
  std::int64_t processes = 0;  // all that have connected, including ended ones
  std::int64_t step = 0;       // of the most advanced loop
  std::int64_t ops = 0;
  std::int64_t phases = 0;
  std::int64_t lost = 0;
  std::int64_t waiting_ns = 0;  // for input, summed over all loops
  std::int64_t looping_ns = 0;  // from each loop's first step to its latest, summed over all loops
  bool ops_enabled = false;     // in some process, now
  // With a budget, for the process with the highest cost: the share of its steps whose ops were
  // recorded, and the share of its time that recording cost.
  double op_step_share = 0;
  double cost = 0;
};

class RunRecorder {
 public:
  // Creates the store at `output` with `meta` in it (but see RunPlan::replace_late). Errors: those
  // of TraceWriter::create(), kIo.
  static Result<std::unique_ptr<RunRecorder>> start(const std::filesystem::path& output,
                                                    const Meta& meta, const RunPlan& plan);
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  // For STEPSCOPE_SOCKET in the program's environment.
  [[nodiscard]] const std::string& socket_path() const { return listener_->path(); }

  // Waits until the next poll is due, a process connects or ends, or one of `also` is readable.
  // A descriptor of -1 never is.
  void wait(std::initializer_list<int> also) const noexcept;
  // Polls everything once.
  void tick() noexcept;

  // On demand: switches ops on or off in every process, or back to the plan.
  void switch_ops(OpsSwitch to);
  // The same for one rank: records its ops for a block of steps (ops_blocks.h). Does nothing if no
  // running process has the rank.
  void record_ops_block(std::int64_t rank);

  // The program itself is the caller's child `pid`: only the caller learns how it ended, and
  // reports it with program_ended().
  void program_started(pid_t pid) { program_ = pid; }
  // The program has ended with `wait_status`; see waitpid(2). It need not have connected.
  void program_ended(pid_t pid, int wait_status, const std::string& command) noexcept;
  // Briefly waits for processes that are still running, drains the rest and closes the store.
  Status finish() noexcept;
  // Instead of finish(), if the program could not be started: leaves `output` as it was.
  void discard() { session_->discard(); }
  // Whether the store at `output` belongs to this recording.
  [[nodiscard]] bool has_store() const { return session_->begun(); }
  // Where the store is: after finish(), also if somebody has moved it meanwhile.
  [[nodiscard]] const std::filesystem::path& store_path() const { return session_->path(); }

  [[nodiscard]] RunProgress progress() const;
  [[nodiscard]] const Status& failure() const { return session_->failure(); }
  // The notices of the processes to the user, each returned once.
  std::vector<std::string> take_notices() noexcept;

 private:
  RunRecorder(std::unique_ptr<StoreSession> session, std::unique_ptr<Listener> listener,
              const RunPlan& plan);

  [[nodiscard]] TraceWriter& store() { return session_->writer(); }
  std::string carry_out(ControlCommand command);
  void stop_op_callbacks() noexcept;
  Status store_program_end(pid_t pid, int wait_status, const std::string& command);
  void wait_for_last_ones() noexcept;
  Status drain_survivors();
  Status store_survivors();
  Status store_unrecorded();
  Status look();
  Status take_in_arrivals();
  void search_unjoined();
  // Counts a process that cannot be recorded. `line` says why.
  void refuse(const std::string& line);
  // A process that has joined and is not yet in the store.
  struct Waiting {
    Listener::Arrival arrival;
    // Set if it must wait because the store is locked; it may end meanwhile.
    std::shared_ptr<RingBacklog> backlog;
    Process process{};
    std::uint64_t heartbeat = 1;  // the listener sent the first one
  };
  void hold(Waiting& one);
  void admit(Waiting& one);
  void admit_all_waiting();
  // What tick() does instead of look() while the store is locked.
  void hold_events();
  void lock_at_end() noexcept;
  Status add_process(Waiting& one);
  void count_events_of(const Waiting& one);
  Status drain(WatchedProcess& process);
  void collect_notices(WatchedProcess& process);
  void add_notice(const std::string& line);
  Status sample();
  Status end(WatchedProcess& process, EndKind how, std::int64_t code);
  Status end_ops_blocks();
  std::vector<OpsBlocks::Process> running_processes();
  [[nodiscard]] Process describe(const Listener::Arrival& arrival) const;
  std::int64_t closest_recorded_above(const Listener::Arrival& arrival) const;
  // Whether a process with this pid is recorded, or was until it ended.
  [[nodiscard]] bool has_recorded(std::int64_t pid) const;
  WatchedProcess* find_running(pid_t pid);

  // Constant.
  const RunPlan plan_;
  const RegionLayout layout_;

  std::unique_ptr<StoreSession> session_;
  std::unique_ptr<Listener> listener_;
  RingCollector collector_;
  OtherCpus cpus_;  // of the thread that calls tick()
  MachineSampler machine_;
  ThreadWatch threads_;
  UnjoinedProcesses unjoined_;
  std::unique_ptr<GpuSampler> gpus_;     // created when the first process comes
  std::list<WatchedProcess> processes_;  // session_ owns their drains
  std::list<Waiting> waiting_;
  StackRecording stacks_;  // after processes_: its thread reads their regions until destroyed
  std::vector<std::string> notices_;
  std::int64_t refused_ = 0;     // calls of refuse()
  std::int64_t unrecorded_ = 0;  // the same, and processes that could not map their rings
  std::int64_t stored_unrecorded_ = 0;
  OpsSwitch switch_ = OpsSwitch::kPlan;
  OpsBlocks blocks_;
  pid_t program_ = 0;
  RunDescription description_;
  bool busy_ = false;
  bool behind_ = false;
  bool held_ = false;  // another program has locked the store: nothing can be written
  std::int64_t last_sample_ns_ = 0;
};

}  // namespace stepscope
