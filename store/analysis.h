// What the analyzer writes back into a store, and what the exporters and SQL users read from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/device_events.h"
#include "store/events.h"

namespace stepscope {

// The signal that delimited the steps, in order of trust: the lower number wins.
enum class StepMarker : std::uint8_t {
  kUser = 0,
  kLoader = 1,
  kOptimizer = 2,
  kClosure = 3,
  kInferred = 4
};
const char* marker_name(StepMarker marker);  // "user", "loader", "optimizer", "closure", "inferred"

// The exclusive categories of attribution (docs/attribution.md). The numbers are not stored; the
// names are.
enum class Category : std::uint8_t {
  kCompute,
  kInput,
  kCopy,
  kCommunication,
  kSync,
  kLaunch,
  kAllocation,
  kHost,
  kOther,
};
inline constexpr int kCategoryCount = 9;
const char* category_name(Category category);  // "compute", "input", …

// One slice of a step: step_time rows of a step and device sum to the step's duration, to the
// nanosecond.
struct StepTime {
  Category category = Category::kHost;
  PhaseKind phase = PhaseKind::kNone;  // splits compute and launch by forward, backward, optimizer
  std::string label;                   // kOther: which scope; else empty
  Duration exposed{0};
  Duration hidden{0};                 // covered by something else; not part of the sum
  DeviceId device = DeviceId::kNone;  // whose time it is; kNone: the loop thread's own
};

// What bounds a single step.
struct StepKind {
  std::string kind;             // as Verdict::kind
  std::int64_t population = 0;  // StepPopulation::number; 0: not part of the verdict
  DeviceId device = DeviceId::kNone;
};

struct Step {
  std::int64_t number = 0;            // from 1 within its loop; steps outside a window count too
  ThreadId thread = ThreadId::kNone;  // the loop thread
  SessionTime start;
  Duration dur{0};     // excludes `paused`
  Duration paused{0};  // in segments (LoopSegment) that lie inside the step
  StepMarker marker = StepMarker::kInferred;
  bool ops_recorded = false;  // op-level recording covered the whole step
  bool steady = false;        // false: warm-up; not part of the verdict
  std::vector<StepTime> times;
  std::vector<StepKind> kinds;  // one per device that has times, or one for the thread

  [[nodiscard]] SessionTime end() const { return start + dur + paused; }
};

// What a training loop does between and inside its steps that is not training. The numbers are not
// stored; the names are.
enum class SegmentKind : std::uint8_t { kEvaluation, kCheckpoint, kBetweenEpochs };
inline constexpr int kSegmentKindCount = 3;
const char* segment_name(SegmentKind kind);  // "evaluation", "checkpoint", "between_epochs"

// A stretch of a loop's thread that belongs to no step. Segments do not overlap.
struct LoopSegment {
  ThreadId thread = ThreadId::kNone;  // the loop thread
  SegmentKind kind = SegmentKind::kEvaluation;
  SessionTime start;
  Duration dur{0};
  std::int64_t step = 0;     // the number of the last step that began before it; 0: none
  std::int64_t batches = 0;  // fetched during it
  Duration input{0};         // time it waited for them, or for an exhausted loader

  friend bool operator==(const LoopSegment&, const LoopSegment&) = default;
};

// The kind of thread in which a line was seen: the loop's, or one of a worker.
enum class LinePlace : std::uint8_t { kLoop, kWorker };
inline constexpr int kLinePlaceCount = 2;
const char* line_place_name(LinePlace place);  // "loop", "worker"

// A line of the program, and the share of a category's time that went to it and to what it called.
struct LineShare {
  ThreadId thread = ThreadId::kNone;  // the loop thread
  LinePlace place = LinePlace::kLoop;
  std::string category;  // "input", "host", …
  std::string file;
  std::int64_t line = 0;  // 0: unknown
  std::string function;
  std::string inside;   // library function it mostly called: "PIL/Image.py load"; "": none
  std::string blocked;  // what it was mostly blocked in, "read /data/train.bin"; "": it ran
  std::int64_t samples = 0;
  double share = 0;   // of the category's time, from 0 to 1
  double ci_low = 0;  // the 95 % confidence interval of share
  double ci_high = 0;
  Duration step{0};  // per mean step; for a worker, only while its batch was awaited

  friend bool operator==(const LineShare&, const LineShare&) = default;
};

// The cost of one module of a loop's model in a mean step.
struct ModuleTime {
  ThreadId thread = ThreadId::kNone;  // the loop thread
  std::string root;                   // class of the outermost module that is called
  std::string name;                   // "encoder.layer.3.attention"; "": the root itself
  std::string class_name;             // "": a module that is never called, such as a ModuleList
  std::int64_t steps = 0;             // steps that the figures are based on
  double calls = 0;                   // per step, as are all figures below
  double recomputed = 0;              // part of `calls`: those in the backward pass
  double ops = 0;                     // inside its forward calls
  Duration forward{0}, forward_self{0};
  Duration backward{0}, backward_self{0};
  std::optional<std::int64_t> held_bytes;  // left by its forward pass; nullopt: not counted

  friend bool operator==(const ModuleTime&, const ModuleTime&) = default;
};

struct Evidence {
  std::string statement;  // a sentence with its figure
  double value = 0;
  std::string unit;   // "ratio", "ns", "count", "bytes"
  std::string query;  // SQL on this store that shows it
};

// The range in which the predicted step time likely lies.
struct LikelyStep {
  std::int64_t low_ns = 0;
  std::int64_t high_ns = 0;

  friend bool operator==(const LikelyStep&, const LikelyStep&) = default;
};

struct Advice {
  std::string rule;  // stable id: "input-prefetch"
  std::string title;
  std::string why;
  std::int64_t predicted_step_ns = 0;
  std::int64_t saves_ns = 0;
  Evidence evidence;
  std::optional<LikelyStep> likely = {};  // nullopt: unknown
};

// Steps of one kind: all steps of a verdict, or those that differ from the others.
struct StepPopulation {
  std::int64_t number = 0;  // from 1 within the verdict, the usual steps first
  std::int64_t steps = 0;
  std::int64_t mean_ns = 0;
  double share = 0;  // of all step time
  std::string label;
  std::string kind;         // what these steps alone are bound by: as Verdict::kind
  std::string degree;       // as Verdict::degree
  std::int64_t period = 0;  // in steps; 0: aperiodic
  std::int64_t first = 0;   // the first step of the period
};

// Verdict::kind for a loop with a single step.
inline constexpr const char* kNoVerdict = "no-verdict";

struct Verdict {
  ThreadId thread = ThreadId::kNone;  // the loop thread; kNone when no step was found
  std::string kind;                   // "input-bound", …, "no-steps": the contract in docs/cli.md
  std::string degree;                 // "highly", "moderately" or empty
  double share = 0;                   // 0..1 of step time
  double ci_low = 0;                  // 95 % bootstrap interval of share
  double ci_high = 0;
  std::string confidence;  // "high", "medium", "low"
  std::string sentence;    // what a person reads
  std::int64_t steps = 0;  // how many steps it rests on
  std::vector<Evidence> evidence;
  std::vector<Advice> advice;
  DeviceId device = DeviceId::kNone;  // a loop with devices has a verdict for each
  std::vector<StepPopulation> populations;
};

// The op in which an API call was made; both are row ids.
struct CallOp {
  std::int64_t api_call = 0;
  std::int64_t op = 0;
};

// What launched the work of one correlation. This and the following structs are rows of the tables
// with these names in schema.sql. Row ids of 0 mean none.
struct Launch {
  std::int64_t correlation = 0;
  std::int64_t api_call = 0;
  PhaseKind phase = PhaseKind::kNone;
  std::int64_t op = 0;
  std::int64_t node = 0;
  std::int64_t forward_op = 0;
  std::int64_t activities = 0;
};

// What the name of a kernel says.
struct KernelName {
  StringId name = StringId::kNone;
  bool tensor_cores = false;
};

struct Occupancy {
  DeviceId device = DeviceId::kNone;
  std::int64_t block_threads = 0;
  std::int64_t registers = 0;  // per thread
  std::int64_t shared_bytes = 0;
  std::int64_t blocks = 0;  // per multiprocessor
  std::int64_t warps = 0;
  double occupancy = 0;  // 0..1
  std::string limited_by;
};

struct CopyOverlap {
  std::int64_t copy = 0;  // its row id
  Duration kernel{0};
};

struct StreamTime {
  StreamId stream = StreamId::kNone;
  Duration busy{0};
  Duration span{0};
};

// What the views on kernels, copies and streams need in addition to the recording.
struct DeviceFacts {
  std::vector<Launch> launches;  // by correlation
  std::vector<KernelName> kernel_names;
  std::vector<Occupancy> occupancies;
  std::vector<CopyOverlap> overlaps;
  std::vector<StreamTime> streams;
};

// One step in the breakdown of other tools (docs/attribution.md, "The older breakdown").
struct PriorityTime {
  ThreadId thread = ThreadId::kNone;  // the loop's
  std::int64_t step = 0;
  Duration kernel{0}, memcpy{0}, memset{0}, runtime{0}, dataloader{0}, cpu_op{0}, other{0};
};

// Merged kernel time over the span of a loop's steps.
struct DeviceUtilization {
  ThreadId thread = ThreadId::kNone;  // the loop's
  DeviceId device = DeviceId::kNone;
  Duration kernel{0};
  Duration span{0};
};

// The analysis of one store: replaces any earlier one as a whole.
struct Analysis {
  std::vector<Step> steps;
  std::vector<LoopSegment> segments;
  std::vector<LineShare> lines;   // for each loop, the most important first
  std::vector<Verdict> verdicts;  // one per loop and device, the loop with the most step time first
  // For SQL only: TraceReader::analysis() does not read these.
  std::vector<ModuleTime> modules;  // for each loop, in the order of its module tree
  std::vector<CallOp> call_ops;     // by api_call
  std::vector<PriorityTime> priority_times;
  std::vector<DeviceUtilization> utilizations;
  DeviceFacts device_facts;
};

}  // namespace stepscope
