// The result of an analysis, as plain values: the source of the text page, the JSON document and
// the rows in the store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/attribute/phase_split.h"
#include "analyzer/facts/bottleneck.h"
#include "analyzer/facts/cause.h"
#include "analyzer/facts/held_tensors.h"
#include "analyzer/facts/memory_limits.h"
#include "analyzer/facts/ranks.h"
#include "analyzer/facts/run_use.h"
#include "analyzer/facts/starvation.h"
#include "analyzer/facts/trend.h"
#include "analyzer/facts/verdict.h"
#include "analyzer/facts/withheld.h"
#include "analyzer/recording.h"
#include "analyzer/serving/lengths.h"
#include "analyzer/serving/op_facts.h"
#include "store/analysis.h"
#include "store/loss_kinds.h"

namespace stepscope {

class Predictor;

struct WallStats {
  std::int64_t mean = 0, p50 = 0, p90 = 0, min = 0, max = 0;  // ns
  std::optional<std::int64_t> p99;                            // with kMinForP99 steps or more
};
inline constexpr std::size_t kMinForP99 = 100;

// Mean time of a step by phase, in ns. They sum to the mean step.
struct PhaseMeans {
  double input = 0, forward = 0, backward = 0, optimizer = 0, other = 0;
};

// How the loop waited for its batches.
struct InputUse {
  std::int64_t waits = 0;
  std::int64_t wait_ns = 0;  // of all waits
  std::int64_t busy_ns = 0;  // CPU time of the loop thread meanwhile, at most wait_ns
  // Time meanwhile in which it was ready to run but had no core; busy_ns + starved_ns <= wait_ns.
  std::int64_t starved_ns = 0;
  bool schedule_known = false;  // else starved_ns is 0, and starved time counts as blocked
  std::string loader;
  // No loader was seen: the waits come from infer_input(). What the thread did in them is unknown;
  // busy_ns is 0.
  bool inferred = false;
  // Inferred, and nothing shows that the loop prepared batches then: it may have done other work.
  bool unsure = false;

  [[nodiscard]] double busy_share() const {
    return wait_ns > 0 ? static_cast<double>(busy_ns) / static_cast<double>(wait_ns) : 0;
  }
  [[nodiscard]] double starved_share() const {
    return wait_ns > 0 ? static_cast<double>(starved_ns) / static_cast<double>(wait_ns) : 0;
  }
  [[nodiscard]] double blocked_share() const {
    return wait_ns > 0 ? std::max(1 - busy_share() - starved_share(), 0.0) : 0;
  }
};

// A kind of step: all, or one of several.
struct Population {
  std::int64_t steps = 0;
  std::int64_t mean_ns = 0;
  double share = 0;                  // of all step time
  std::vector<std::size_t> members;  // indexes of the steps, in order
  Shares shares{};
  Bottleneck bottleneck;  // of these steps on their own

  // For a kind other than the usual one:
  std::int64_t period = 0;  // in steps, from number `first` on; 0 = aperiodic
  std::int64_t first = 0;
  Cause cause;          // the cause that differs most from the usual steps
  double extra_ns = 0;  // the difference per step; negative: it takes less
};

// How the usual steps change over the run.
struct Drift {
  Trend trend;
  Cause cause;  // the cause that changed most

  // For the evidence: the mean of the steps from number thirds.first on minus that of the steps
  // before thirds.second, ns. The later and the earlier third, or the two sides of a jump.
  std::pair<std::int64_t, std::int64_t> thirds;
  double between_thirds_ns = 0;
};

// What an op or a kernel cost in a block of consecutive steps. Blocks without it have no sample.
struct OpSample {
  std::size_t block = 0;  // index in LoopReport::op_blocks or kernel_blocks
  std::int64_t calls = 0;
  std::int64_t self_ns = 0;
};

// Where the op time of the analysed steps went.
struct OpRow {
  std::string name;
  std::string phase;  // phase_name(); "input": inside an input wait
  std::int64_t calls = 0;
  std::int64_t self_ns = 0;
  std::int64_t launch_ns = 0;
  std::vector<OpSample> samples;  // by block; empty unless requested
};

// Where the kernel time of a device went in the analysed steps.
struct KernelRow {
  std::string name;
  std::string phase;  // of its launch
  std::int64_t calls = 0;
  std::int64_t total_ns = 0;
  // The mean of its launches on the device, weighted by their times; nullopt: unknown.
  std::optional<double> occupancy;
  std::optional<bool> tensor_cores;  // as its name shows
  std::vector<OpSample> samples;     // by block; empty unless requested
};

// The scopes of one name that began in the analysed steps: all that ran inside them, whatever its
// category. Scopes around whole steps are left out.
struct ScopeRow {
  std::string name;
  std::int64_t calls = 0;
  std::int64_t total_ns = 0;
};

// The copies of one kind that a device began in the analysed steps.
struct CopyRow {
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
  std::int64_t stream = 0;  // its number
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  std::int64_t total_ns = 0;
  std::int64_t kernel_ns = 0;  // part of total_ns while a kernel ran on the device
};

// Where a thread was when it was last sampled.
struct LastLine {
  std::int64_t tid = 0;
  std::string thread;          // its name
  std::string place;           // "train.py:12 main": the innermost line of the program's own
  std::string inside;          // the innermost line of all, if it differs; "": it is the same
  std::string blocked;         // the system call it was blocked in; "": it ran
  std::int64_t before_ns = 0;  // how long before the end
};

// A process and how it ended.
struct ProcessReport : StoredProcess {
  std::optional<ProcessEnd> end;  // absent: still running, or not observed
  double rss_bytes = 0;           // at the last reading; 0: not sampled
  double rss_peak_bytes = 0;      // the highest reading
  double rss_growth_per_step = 0;
  bool grows = false;  // by enough to be reported
  MemoryLimits limits;
  std::optional<HeldTensorsUse> tensors;
  std::int64_t peak_step = 0;  // the step of the tensors' peak; 0: none

  // For a process that died (a signal, an exit code other than 0); empty otherwise.
  bool died = false;
  const char* unit = "step";    // LoopReport::unit() of its loop
  std::int64_t after_step = 0;  // it was in no step any more: the last one; 0: it was in one
  bool of_memory = false;       // killed by the kernel for lack of memory, or at a memory limit
  std::string died_in;          // the innermost op
  std::string died_in_thread;   // of that op
  std::vector<LastLine> last_lines;  // of its threads, if they were sampled just before
};

// The result of measure_memory_pressure().
struct MemoryPressure {
  double share = 0;              // of the analysed steps' time
  std::vector<double> stall_ns;  // of each step of the loop; empty: unknown
  std::vector<EvidenceFact> evidence;
};

// The samples that the lines of a loop are based on.
struct LineUse {
  // Fewer are enough only for the most important line; fewer than kFewest are not enough for any.
  static constexpr std::int64_t kEnough = 100;
  static constexpr std::int64_t kFewest = 5;

  std::int64_t loop_samples = 0;                    // of the loop's thread, in its steps
  std::map<std::string, std::int64_t> by_category;  // they, by LineShare::category
  std::int64_t worker_samples = 0;  // of the makers of its batches, while it waited for them
  bool withheld = false;            // samples were taken too late to be reliable
  // The file and name of each function that contains the loop (lines/loop_functions.h).
  std::set<std::pair<std::string, std::string>> loop_functions;

  // The number that the lines of a place and category are based on.
  [[nodiscard]] std::int64_t samples(LinePlace place, const std::string& category) const {
    if (place == LinePlace::kWorker) return worker_samples;
    const auto known = by_category.find(category);
    return known == by_category.end() ? 0 : known->second;
  }
};

// What computed on the loop's thread outside any op: a native library, or another runtime.
struct NativeShare {
  std::string library;       // "numpy (libscipy_openblas64_)", "onnxruntime::run"
  double share = 0;          // of the analysed steps' time
  std::int64_t samples = 0;  // samples in its code; 0: its calls are marked
};

// What recording the ops cost, where some steps have ops and others none (attribute/phase_split.h).
struct RecordingCost {
  OpsCost ops;
  double op_step_share = 0;  // the share of the loop's steps that have ops
  double run_share = 0;      // of the time of all of the loop's steps
  bool removed = false;      // the figures of the loop exclude this cost
};

// Whether the recorded dependencies explain the step time, the basis of predictions.
struct ReplayReport {
  std::int64_t steps = 0;  // replayed steps
  double replayed_ns = 0;  // the mean step without any change
  double error = 0;        // relative to the measured one
  double measured_ns = 0;  // the same, as recorded
  Withheld withheld = Withheld::kNothing;
};

// Further facts that predictions take into account.
struct LoopUse {
  bool sees_data_again = false;  // the loader was exhausted at least once and the loop went on
  int loader_processes = 0;      // started by the loop's process, and not training
  int loader_threads = 0;        // of the loop's process: they prepare batches ahead
  int reading_threads = 0;       // of these, threads that iterate a known loader
  // CPU time of the loop's process and those it started, in ns a step; 0: not sampled.
  double cpu_ns = 0;
  double system_ns = 0;  // the part of cpu_ns in the kernel
  // Per step on average: pages that the loop's process touched for the first time after mapping
  // them, and the growth of its memory in bytes. 0: not sampled.
  double minor_faults = 0;
  double growth_bytes = 0;
  // CPU tensor memory that the loop's process allocates, in bytes per step, and the mean size of
  // one allocation; 0: not sampled.
  double tensor_bytes = 0;
  double tensor_size = 0;
  bool backward_elsewhere = false;  // another thread of the process runs backward passes
  // GPUs that the driver reports, and the utilization of the busiest, from 0 to 1.
  std::int64_t gpus = 0;
  double gpu_busy = 0;
};

inline constexpr std::size_t kMaxScopes = 100;

struct LoopReport {
  ProcessId process = ProcessId::kNone;
  std::int64_t pid = 0;
  std::int64_t rank = -1;  // -1: none
  std::int64_t tid = 0;
  std::string thread_name;
  // A loop has a report for each device that worked for it. Its shares and verdict are those of the
  // device; phases, input and ops are still those of the loop thread.
  DeviceId device = DeviceId::kNone;  // kNone: no device
  std::int64_t device_number = 0;     // 0 for cuda:0
  std::string device_name;
  StepMarker marker = StepMarker::kInferred;
  bool by_sampler = false;            // kInferred from the marks of a sampler
  std::int64_t batches_per_step = 0;  // the usual number; 0: unknown
  bool trains = false;                // a backward pass or an optimizer step was seen
  // The word for a step: the steps of a loop that never trains are (inference) calls.
  [[nodiscard]] const char* unit() const { return trains ? "step" : "call"; }

  std::vector<Step> steps;            // all steps of the loop
  std::vector<LoopSegment> segments;  // what its thread did besides steps, in order
  RunUse run_use;
  std::vector<std::size_t> analysed;  // indexes of the steps analysed below, in order
  std::int64_t warm_up = 0;           // steps left out at the start
  // Left out after them, because marks were lost in them: each may be several of the program's.
  std::int64_t with_lost_marks = 0;
  std::int64_t with_stops = 0;  // left out too, because a signal had stopped it (StoppedSteps)
  // Ops were recorded in the analysed steps, or in others that show how these divide
  // (recording.removed).
  bool ops_recorded = false;
  std::vector<std::size_t> op_steps;  // indexes of the steps that `ops` and `kernels` cover
  RecordingCost recording;
  bool lacks_loader = false;  // no loader: input can only be inferred

  WallStats wall;
  Shares shares{};
  Shares hidden{};
  PhaseMeans phases;
  std::vector<PhaseMeans> step_phases;  // of each analysed step; empty unless requested
  InputUse input;
  MemoryPressure memory;
  Starvation starvation;
  std::optional<RankWait> rank_wait;  // of a rank that was compared with others
  std::vector<LineShare> lines;       // of each place and category, the largest first
  LineUse line_use;
  std::vector<NativeShare> native;  // part of the compute share; by share, the largest first
  bool native_unknown = false;      // stacks were sampled, but not the native code that ran
  std::vector<ModuleTime> modules;  // in the order of their tree; empty: none were recorded
  std::vector<ScopeRow> scopes;     // by time, the largest first; at most kMaxScopes
  std::vector<OpRow> ops;           // by self time, the largest first
  std::vector<KernelRow> kernels;   // by time, the largest first; empty without a device
  std::vector<CopyRow> copies;      // the same
  // The number of names without a row of their own (store/table_names.h): one row per phase stands
  // for all of them, "(12345 further names)".
  std::int64_t merged_ops = 0;
  std::int64_t merged_kernels = 0;
  // The number of kernels that ran only in the warm-up, where the run's first step was recorded:
  // those that cuDNN tried (its benchmark mode). nullopt: unknown.
  std::optional<std::int64_t> tried_kernels;
  OpFacts op_facts;
  PaddingUse padding;
  std::vector<std::int64_t> op_blocks;  // steps in each block of samples; empty unless requested
  std::vector<std::int64_t> kernel_blocks;  // the same for kernels
  std::vector<Population> populations;      // the usual steps first, the others by their time
  std::optional<Drift> drift;
  std::int64_t late_ops = 0;  // came too late to be assigned to a step

  ReplayReport replay;
  std::shared_ptr<const Predictor> predictor;  // for what-if questions; null unless requested
  LoopUse use;

  // The number of steps that `ops` cover, as a divisor: at least 1.
  [[nodiscard]] double op_step_count() const {
    return static_cast<double>(std::max<std::size_t>(op_steps.size(), 1));
  }

  LoopVerdict verdict;  // with its evidence and advice
  VerdictBasis basis;
  std::optional<ProcessReport> death;  // of its process, if that died
};

// What was seen in a run without steps, besides its ops.
struct NoSteps {
  bool phases = false;  // phases of any kind were seen
  std::int64_t backward_passes = 0;
};

// Limits of what is analysed. A machine runs some tens of each; beyond these limits a report would
// only get longer, not more useful.
inline constexpr std::size_t kMaxLoops = 256;       // those that last longest
inline constexpr std::size_t kMaxProcesses = 4096;  // those with a loop or an end come first

struct AnalysisReport {
  // Events of all kinds that were not recorded, or came too late to be assigned to a step.
  [[nodiscard]] std::int64_t lost() const { return lost_events(losses); }

  RunFacts run;
  std::vector<ProcessReport> processes;  // in the order of the recording
  std::int64_t processes_left_out = 0;   // beyond kMaxProcesses
  std::int64_t loops_left_out = 0;       // beyond kMaxLoops
  std::vector<std::size_t> deaths;       // indexes of those that died, in order of death
  std::vector<Loss> losses;
  std::int64_t op_count = 0;
  std::optional<StepSpan> only;  // the steps that the user requested
  // The loops of the straggler come first, then those with the most step time; the loops of one
  // rank are together. Empty: no steps.
  std::vector<LoopReport> loops;
  std::optional<RankReport> ranks;  // if there are two or more
  std::vector<CallOp> call_ops;     // by api_call
  std::vector<PriorityTime> priority_times;
  std::vector<DeviceUtilization> utilizations;
  DeviceFacts device_facts;
  NoSteps no_steps;  // of a run without loops
  // Without loops: the ops of the busiest thread, from its first to its last, as one step. It has
  // shares, hidden, phases, ops and wall; its verdict means nothing.
  std::optional<LoopReport> whole;
};

}  // namespace stepscope
