// One loop's share of the op stream: buffers ops step by step and sweeps a step when its ops have
// arrived.
//
// Thread safety: none.
// Invariants: every instant of every step that lies in no segment is swept once, in order;
// buffered() ops are held, none of them for an instant that has been swept.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/attribute/attribute.h"
#include "analyzer/attribute/loop_devices.h"
#include "analyzer/attribute/op_coverage.h"
#include "analyzer/attribute/sweep.h"

namespace stepscope {

class LoopSweeper {
 public:
  struct Config {
    Duration launch_overhead{0};
    // Were a step's ops recorded?
    std::function<OpsRecorded(TimeRange step, bool has_ops)> ops_recorded;
    bool in_parts = false;  // some steps have no ops on purpose: fill AttributedLoop::split
    std::function<StepRole(std::size_t step)> role;
    bool op_series = false;               // fill AttributedLoop::op_blocks and kernel_blocks
    FrameObserver* observer = nullptr;    // null: none
    std::span<const ModuleCall> modules;  // of the loop's thread, by start
    std::optional<LoopDevices> devices;
  };

  // `phases`: of the loop's thread, with inferred ones; `marks`: without them.
  LoopSweeper(const Loop& loop, const std::vector<Phase>& phases, const std::vector<Phase>& marks,
              Config config);

  // Takes the ops of the loop's own thread. From other threads of its process, takes ops of
  // backward passes, collectives, and all ops of threads that it watches.
  void add(const Op& op, OpClass kind);
  // Whether a thread of its process gives work to the loop's devices.
  [[nodiscard]] bool watches(ThreadId thread) const {
    return config_.devices && config_.devices->launches(thread);
  }
  // Sweeps the oldest steps until at most `keep` ops are buffered.
  void shrink(std::size_t keep);
  // Sweeps all that is left. No other method may be called after it.
  AttributedLoop finish();

  [[nodiscard]] std::size_t buffered() const { return buffered_; }

 private:
  // The work of another thread for the loop.
  enum class Help : std::uint8_t { kBackward, kCollective };
  // The ops of one step: those of the loop thread, and those of each other thread.
  struct Buffer {
    std::map<std::pair<Help, ThreadId>, std::vector<BufferedOp>> others;
    std::vector<BufferedOp> own;
    OpsByThread launching;  // all ops of the threads that it watches
  };

  // The longest steady step without ops; 0: there is none, or the recording does not say.
  [[nodiscard]] Duration longest_plain_step() const;
  [[nodiscard]] std::size_t step_at(SessionTime time);
  void buffer(std::size_t step, const Op& op, OpClass kind);
  void sweep_to(SessionTime end);
  void sweep_frame(std::size_t step, TimeRange frame);
  void end_step(std::size_t step);
  [[nodiscard]] std::vector<OpRun> runs_of(Help help, Buffer& ops, TimeRange frame,
                                           OpPaths* paths) const;
  OpTable* table_of(std::size_t step);  // null: its ops are in no table
  // Calls `add_call(name, phase)` for each op that began in `frame`.
  template <typename AddCall>
  void count_calls(const std::vector<BufferedOp>& ops, TimeRange frame, AddCall add_call) const;
  void drop_ended(Buffer& ops, SessionTime now);
  // The marked phase at `time` in the step being swept. Call it in order of time.
  MarkedPhase marked_at(SessionTime time);
  void split_ops(const std::vector<BufferedOp>& ops, TimeRange frame);
  void split_module_calls(TimeRange frame);
  void model_plain_steps();
  void sweep_devices(TimeRange frame, const std::vector<Segment>& segments);

  const Loop& loop_;
  Config config_;
  std::vector<std::vector<Span>> spans_;
  std::vector<std::vector<Span>> marked_;  // like spans_, from marks alone; empty without a split
  std::vector<MarkedTimes> marked_times_;  // of each step; empty without a split
  std::shared_ptr<PhaseSplit> split_;      // null: none
  Duration longest_split_{0};              // the longest step whose parts the split takes; 0: any
  std::size_t marked_index_ = 0;           // where marked_at() looks first
  std::optional<std::size_t> begun_step_;  // the last step of which a frame was swept
  std::vector<Buffer> buffers_;
  AttributedLoop result_;
  TableNames table_names_;
  OpSeries op_series_;
  std::vector<OpSeries> kernel_series_;  // of each device
  SweepState state_;
  SessionTime swept_;          // everything before it is done
  SessionTime seen_;           // the latest end of an op on the loop's thread so far
  SessionTime seen_anywhere_;  // the same, of any thread
  std::size_t next_step_ = 0;  // the first step that is not wholly swept
  std::size_t hint_ = 0;       // where step_at() looks first
  std::size_t buffered_ = 0;
};

}  // namespace stepscope
