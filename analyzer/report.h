// The result of an analysis, as plain values: what the text page, the JSON document and the rows in
// the store are made from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/recording.h"
#include "analyzer/serve/lengths.h"
#include "analyzer/serve/op_facts.h"
#include "analyzer/verdict/cause.h"
#include "analyzer/verdict/classify.h"
#include "analyzer/verdict/memory_limits.h"
#include "analyzer/verdict/tensor_memory.h"
#include "analyzer/verdict/trend.h"
#include "store/analysis.h"

namespace stepscope {

class Predictor;

struct WallStats {
  std::int64_t mean = 0, p50 = 0, p90 = 0, min = 0, max = 0;  // ns
  std::optional<std::int64_t> p99;                            // of kLeastForP99 steps or more
};
inline constexpr std::size_t kLeastForP99 = 100;

// Mean time of a step by phase, in ns. They sum to the mean step.
struct PhaseMeans {
  double input = 0, forward = 0, backward = 0, optimizer = 0, other = 0;
};

// How the loop waited for its batches.
struct InputUse {
  std::int64_t waits = 0;
  std::int64_t wait_ns = 0;  // of all waits
  std::int64_t busy_ns = 0;  // CPU time of the loop thread meanwhile, at most wait_ns
  std::string loader;
  // No loader was seen: the waits are what infer_input() found. What the thread did in them is not
  // known; busy_ns is 0.
  bool inferred = false;

  [[nodiscard]] double busy_share() const {
    return wait_ns > 0 ? static_cast<double>(busy_ns) / static_cast<double>(wait_ns) : 0;
  }
};

// A kind of step: all, or one of several.
struct Population {
  std::int64_t steps = 0;
  std::int64_t mean_ns = 0;
  double share = 0;   // of all step time
  std::string label;  // "all", "usual steps", "every 20th step (20, 40, …): +12.0 ms in input"
  std::vector<std::size_t> members;  // indexes of the steps, in order
  Shares shares{};
  Bottleneck bottleneck;  // what these steps alone are bound by

  // Of one that is not the usual:
  std::int64_t period = 0;  // every so manieth step, from number `first` on; 0: irregular
  std::int64_t first = 0;
  Cause cause;          // that differs most from the usual steps
  double extra_ns = 0;  // by so much a step; negative: it takes less
};

// The usual steps change over the run.
struct Drift {
  Trend trend;
  Cause cause;  // that changed most
  std::string sentence;

  // What anyone can check: the mean of the steps from number thirds.first on less that of the steps
  // before thirds.second, ns. The later and the earlier third; both sides of a jump.
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
  std::vector<OpSample> samples;  // by block; empty unless asked for
};

// Where the kernel time of a device went in the analysed steps.
struct KernelRow {
  std::string name;
  std::string phase;  // that it was launched in
  std::int64_t calls = 0;
  std::int64_t total_ns = 0;
  // Of all its launches on the device, weighted by their times; nothing: not known.
  std::optional<double> occupancy;
  std::optional<bool> tensor_cores;  // as its name tells
  std::vector<OpSample> samples;     // by block; empty unless asked for
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
  std::int64_t kernel_ns = 0;  // of total_ns: while a kernel ran on the device
};

// A process, and what became of it.
struct ProcessReport : StoredProcess {
  std::optional<ProcessEnd> end;  // absent: it was still running, or nobody saw
  double rss_bytes = 0;           // held when last asked; 0: not sampled
  double rss_peak_bytes = 0;      // the most that any sample says
  double rss_growth_per_step = 0;
  bool grows = false;  // by enough to be worth a word
  MemoryLimits limits;
  std::optional<HeldTensorsUse> tensors;
  std::int64_t peak_step = 0;  // of its loop, that the tensors' peak was in; 0: none

  // Of one that died (a signal, an exit code other than 0); empty otherwise.
  std::string died;            // "was killed by SIGKILL (9)"
  bool of_memory = false;      // the kernel killed it for that, or it had come to a limit
  std::string died_in;         // the innermost op
  std::string died_in_thread;  // that it ran on
  std::string sentence;        // all of it
};

// What measure_memory_pressure() says.
struct MemoryPressure {
  double share = 0;              // of the analysed steps' time
  std::vector<double> stall_ns;  // of each step of the loop; empty: not known
  std::vector<Evidence> evidence;
};

// Whether the recorded dependencies explain the step time, which predictions rest on.
struct ReplayReport {
  std::int64_t steps = 0;  // that were replayed
  double replayed_ns = 0;  // the mean step without any change
  double error = 0;        // relative to the measured one
  std::string withheld;    // why there are no predictions; empty: there are
};

// What else a prediction takes into account.
struct LoopUse {
  bool sees_data_again = false;  // the loader came to an end at least once and the loop went on
  int loader_processes = 0;      // that the loop's process started, and do not train
  int loader_threads = 0;        // of the loop's process, that run ops in the steps and no phase
  // CPU time of the loop's process and those it started, in ns a step; 0: not sampled.
  double cpu_ns = 0;
  double system_ns = 0;  // of that, in the kernel
  // Pages that the loop's process touched for the first time since it had them from the system, and
  // bytes that it holds more after a step than before it; a step on the average. 0: not sampled.
  double minor_faults = 0;
  double growth_bytes = 0;
  // Memory of tensors on the CPU that the loop's process asked for, in bytes a step, and of one of
  // them on the average; 0: not sampled.
  double tensor_bytes = 0;
  double tensor_size = 0;
  bool backward_elsewhere = false;  // another thread of the process runs backward passes
  // GPUs that the driver shows, and how busy the busiest was meanwhile, from 0 to 1.
  std::int64_t gpus = 0;
  double gpu_busy = 0;
};

struct LoopReport {
  ProcessId process = ProcessId::kNone;
  std::int64_t pid = 0;
  std::int64_t rank = -1;  // -1: none
  std::int64_t tid = 0;
  std::string thread_name;
  // A loop has a report for each device that worked for it; shares and verdict are the device's
  // then, and phases, input and ops still the loop thread's.
  DeviceId device = DeviceId::kNone;  // kNone: none did
  std::int64_t device_number = 0;     // 0 of cuda:0
  std::string device_name;
  StepMarker marker = StepMarker::kInferred;
  bool by_sampler = false;  // kInferred, from the marks of a sampler
  bool trains = false;      // a backward pass or an optimizer step was seen
  // What a person calls its steps: those of a loop that never trains are calls.
  [[nodiscard]] const char* unit() const { return trains ? "step" : "call"; }

  std::vector<Step> steps;            // all of the loop
  std::vector<std::size_t> analysed;  // indexes of those that the rest is about, in order
  std::int64_t warm_up = 0;           // steps left out at the start
  bool ops_recorded = false;          // in the analysed steps
  bool lacks_loader = false;          // waits for no loader: input can only be inferred

  WallStats wall;
  Shares shares{};
  Shares hidden{};
  PhaseMeans phases;
  std::vector<PhaseMeans> step_phases;  // of each analysed step; empty unless asked for
  InputUse input;
  MemoryPressure memory;
  std::vector<OpRow> ops;          // by self time, the largest first
  std::vector<KernelRow> kernels;  // by time, the largest first; empty without a device
  std::vector<CopyRow> copies;     // the same
  // Names that have no row of their own (store/table_names.h): one row a phase stands for all of
  // them, "(12345 further names)".
  std::int64_t merged_ops = 0;
  std::int64_t merged_kernels = 0;
  // The kernels of the warm-up that never came again, where the run's first step was recorded: what
  // cuDNN tried out (its benchmark mode). Nothing: not known.
  std::optional<std::int64_t> tried_kernels;
  OpFacts op_facts;
  PaddingUse padding;
  std::vector<std::int64_t> op_blocks;  // steps in each block of samples; empty unless asked for
  std::vector<std::int64_t> kernel_blocks;  // the same of kernels
  std::vector<Population> populations;      // the usual steps first, the others by their time
  std::optional<Drift> drift;
  std::int64_t late_ops = 0;  // came too late to be placed

  ReplayReport replay;
  std::shared_ptr<const Predictor> predictor;  // for more questions; null unless asked for
  LoopUse use;

  Verdict verdict;                   // with its evidence and advice
  std::string clause;                // "63.1 % of the step waits for input"
  std::vector<std::string> reasons;  // sentences: why; verdict.sentence holds all of it
  std::vector<std::string> doubts;   // why the confidence is not high
};

// A rank of a distributed run: means over the analysed steps, in ns.
struct RankRow {
  std::int64_t rank = 0;
  std::int64_t pid = 0;
  double step_ns = 0;
  double communication_ns = 0;  // exposed

  // Step by step, over the steps that all ranks have:
  std::int64_t last_in = 0;  // steps in which the others waited for this rank
  double waits_ns = 0;       // it waited for the last rank in a collective, a step
  double costs_ns = 0;       // each other rank waited for this one, a step

  [[nodiscard]] double work_ns() const { return step_ns - communication_ns; }
};

struct RankReport {
  std::vector<RankRow> rows;              // by rank
  std::optional<std::int64_t> straggler;  // the rank that the others wait for
  double gap_ns = 0;                      // its own work over the median of theirs
  double wait_share = 0;                  // of all ranks' time: waiting for the rank that came last
  double step_without_ns = 0;  // a step, were the straggler as fast as the next; 0: there is none
  std::string sentence;
};

// What is analysed of a run at most. A machine runs some tens of each; beyond that a report would
// say nothing, and take ever longer to do so.
inline constexpr std::size_t kMostLoops = 256;       // those that last longest
inline constexpr std::size_t kMostProcesses = 4096;  // those with a loop or an end come first

struct AnalysisReport {
  // Events of all kinds that were not recorded, or came too late to be placed.
  [[nodiscard]] std::int64_t lost() const {
    std::int64_t sum = 0;
    for (const Loss& loss : losses) sum += loss.count;
    return sum;
  }

  RunFacts run;
  std::vector<ProcessReport> processes;  // in the order of the recording
  std::int64_t processes_left_out = 0;   // beyond kMostProcesses
  std::int64_t loops_left_out = 0;       // beyond kMostLoops
  std::vector<std::string> deaths;       // a sentence each, the first to die first
  std::string gap;  // how the recording ended before the program, in one sentence; "": it did not
  std::vector<Loss> losses;
  std::int64_t op_count = 0;
  std::optional<StepSpan> only;     // the user asked for these steps
  std::vector<LoopReport> loops;    // the one with the most step time first; empty: no steps
  std::optional<RankReport> ranks;  // of two or more
  std::vector<CallOp> call_ops;     // by api_call
  std::vector<PriorityTime> priority_times;
  std::vector<DeviceUtilization> utilizations;
  DeviceFacts device_facts;
  std::string no_steps;  // without loops: why, in one sentence
};

}  // namespace stepscope
