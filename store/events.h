// The event vocabulary: what a recorder or importer may say about a run, and what the analyzer and
// the exporters read back. Small value types; schema.sql has their tables, and docs/schema.md
// describes them.
//
// Ids are handles scoped to one store. 0 means "none" in each of them. Strings are deduplicated:
// two equal texts have equal StringIds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/time.h"

namespace stepscope {

enum class StringId : std::uint32_t { kNone = 0 };
enum class ProcessId : std::uint32_t { kNone = 0 };
enum class ThreadId : std::uint32_t { kNone = 0 };
enum class WatchedThreadId : std::uint32_t { kNone = 0 };
enum class FrameId : std::uint32_t { kNone = 0 };

// What a thread was doing, as the training loop sees it. The numbers are stored (phase.kind and
// op.phase): append, never renumber. Names: phase_name().
enum class PhaseKind : std::uint8_t {
  kNone = 0,   // nothing marked and nothing inferred while recording
  kInput = 1,  // waiting for the next batch, which arrived
  kForward = 2,
  kBackward = 3,
  kOptimizer = 4,
  kZeroGrad = 5,
  kScope = 6,     // a user's named scope; the name says which
  kStep = 7,      // an instant: the user called step(), one step ended here
  kInputEnd = 8,  // a wait that found the loader exhausted: it begins no step
  kSampler = 9,   // a torch::data sampler chose samples: preparation of a batch has begun
  // Instants at which recording of this process's ops begins and ends. A recording without them has
  // ops throughout or not at all.
  kOpsBegin = 10,
  kOpsEnd = 11,
  kLost = 12,  // marks of the thread are missing in this time: its ring was full
};
inline constexpr int kPhaseKindCount = 13;
// The last phase that an op or a part of a step can be in; later ones say what was recorded.
inline constexpr PhaseKind kLastPhaseOfOps = PhaseKind::kSampler;
constexpr PhaseKind phase_of_op(std::uint8_t number) {  // kNone for any other number
  return number <= static_cast<std::uint8_t>(kLastPhaseOfOps) ? static_cast<PhaseKind>(number)
                                                              : PhaseKind::kNone;
}

// "input", "forward", …; "none" for kNone and for a number this version does not know.
const char* phase_name(PhaseKind kind);

// The owner of held memory: the phase that the thread was in when it allocated the memory.
enum class MemoryOwner : std::uint8_t {
  kOther = 0,      // no phase: before the first step (parameters), threads other than the loop's
  kInput = 1,      // batches
  kForward = 2,    // mostly activations
  kBackward = 3,   // mostly gradients
  kOptimizer = 4,  // mostly its state
};
inline constexpr int kMemoryOwnerCount = 5;

constexpr MemoryOwner memory_owner(PhaseKind phase) {
  switch (phase) {
    case PhaseKind::kInput:
    case PhaseKind::kInputEnd:
      return MemoryOwner::kInput;
    case PhaseKind::kForward:
      return MemoryOwner::kForward;
    case PhaseKind::kBackward:
      return MemoryOwner::kBackward;
    case PhaseKind::kOptimizer:
    case PhaseKind::kZeroGrad:
      return MemoryOwner::kOptimizer;
    default:
      return MemoryOwner::kOther;
  }
}

// at::RecordScope, by its numbers since libtorch 1.8. Stored in op.scope.
enum class OpScope : std::uint8_t {
  kFunction = 0,          // a dispatcher call: aten::add
  kBackwardFunction = 1,  // an autograd node: autograd::engine::evaluate_function: AddBackward0
  kTorchScript = 2,
  kUser = 7,  // record_function("…"), RECORD_USER_SCOPE
};

struct Process {
  std::int64_t pid = 0;
  std::string name;             // as ps shows it: comm
  std::string command;          // argv joined by spaces
  std::int64_t parent_pid = 0;  // 0: unknown
  std::int64_t rank = -1;       // of a distributed run (RANK in its environment); -1: none
};

// How a process ended. The numbers are not stored; the names are.
enum class EndKind : std::uint8_t {
  kExit,      // exit() or a return from main(); `code` is the exit code, -1 when it is not known
  kSignal,    // killed; `code` is the signal, 0 when it is not known
  kReplaced,  // exec(): the process lives on as another program
};
const char* end_name(EndKind kind);            // "exit", "signal", "replaced"
std::string signal_name(std::int64_t number);  // "SIGKILL (9)"; "signal 40" for one without a name

struct ProcessEnd {
  ProcessId process = ProcessId::kNone;
  EndKind how = EndKind::kExit;
  std::int64_t code = 0;
  SessionTime at;
  std::int64_t step = 0;       // the step its loop was in; 0: none was seen
  bool out_of_memory = false;  // the kernel killed it because memory ran out
};

// An op that was still open when its process died. depth as in Op.
struct UnfinishedOp {
  ThreadId thread = ThreadId::kNone;
  StringId name = StringId::kNone;
  SessionTime start;
  PhaseKind phase = PhaseKind::kNone;
  std::uint8_t depth = 0;
};

// A reading of a counter of a process, or of the machine. Names and units: docs/schema.md.
struct Sample {
  ProcessId process = ProcessId::kNone;  // kNone: of the machine
  StringId counter = StringId::kNone;
  SessionTime at;
  std::int64_t value = 0;
  // The GPU: in a reading of a process, its Device::number; in one of the machine, the driver's
  // number. -1: no GPU.
  std::int64_t gpu = -1;
};

struct Thread {
  ProcessId process = ProcessId::kNone;
  std::int64_t tid = 0;        // the system's thread id
  std::uint32_t torch_id = 0;  // at::RecordFunction::currentThreadId(); 0 when unknown
  std::string name;            // pthread name, may be empty
};

// One finished RecordFunction range. `self` is the part of `dur` outside any child op.
struct Op {
  ThreadId thread = ThreadId::kNone;
  StringId name = StringId::kNone;
  SessionTime start;
  Duration dur{0};
  Duration self{0};
  std::int64_t sequence = -1;        // autograd sequence number of this thread; -1: none
  std::uint32_t forward_thread = 0;  // backward nodes: torch_id of the thread that ran the forward
  OpScope scope = OpScope::kFunction;
  PhaseKind phase = PhaseKind::kNone;  // the thread's phase, as known while recording
  std::uint8_t depth = 0;              // open ops around this one; 255 means 255 or more
  StringId shapes = StringId::kNone;   // "[[64,784],[128]]", only if requested
};

// A marked stretch of one thread. `cpu` is the CPU time of the thread meanwhile: an input wait with
// cpu near dur was busy (decoding), one with cpu near 0 was blocked.
struct Phase {
  ThreadId thread = ThreadId::kNone;
  PhaseKind kind = PhaseKind::kNone;
  StringId name = StringId::kNone;  // the scope's or the loader's name
  SessionTime start;
  Duration dur{0};
  Duration cpu{0};
};

// A finished call of a module (torch.nn.Module) in a Python program.
struct ModuleCall {
  ThreadId thread = ThreadId::kNone;
  StringId root = StringId::kNone;  // class of the outermost module that is called: "Net"
  StringId name = StringId::kNone;  // "encoder.layer.3.attention"; kNone: the root itself
  StringId class_name = StringId::kNone;
  SessionTime start;
  Duration dur{0};
  PhaseKind phase = PhaseKind::kNone;      // the thread's phase; kBackward: recomputed
  std::uint8_t depth = 0;                  // open calls of modules around this one
  std::optional<std::int64_t> held_bytes;  // tensor memory allocated inside and not freed there
};
inline constexpr std::int64_t kMaxHeldBytes = std::int64_t{1} << 50;  // positive or negative

// How a marked thread was scheduled from one mark to the next. Starved: ready to run without a
// core, waiting for its turn or held back by a quota. For the rest of `dur` the thread was blocked.
// `run` and `starved` may exceed `dur` a little, because the clocks differ.
struct ThreadStretch {
  ThreadId thread = ThreadId::kNone;
  SessionTime start;
  Duration dur{0};
  Duration run{0};
  Duration starved{0};
};

// A thread whose scheduling is sampled. It need not record anything itself.
struct WatchedThread {
  ProcessId process = ProcessId::kNone;  // its process, or the one that started its process
  std::int64_t pid = 0;                  // of its process
  std::int64_t tid = 0;
  std::string name;
};

// The scheduling of a watched thread since it began, as read at `at`.
struct ThreadReading {
  WatchedThreadId thread = WatchedThreadId::kNone;
  SessionTime at;
  Duration run{0};
  Duration starved{0};
  std::int64_t cores = 0;  // cores that it may run on; 0: unknown
};

// A line that was running, and the frame that called it. Its id is its row number.
struct StackFrame {
  FrameId caller = FrameId::kNone;  // an earlier one; kNone: the outermost
  StringId function = StringId::kNone;
  StringId file = StringId::kNone;
  std::int64_t line = 0;  // 0: unknown
};

// What a watched thread was doing at an instant.
struct StackSample {
  WatchedThreadId thread = WatchedThreadId::kNone;
  SessionTime at;
  FrameId frame = FrameId::kNone;      // the innermost
  bool awaited = false;                // a loop was waiting for a batch from its process
  StringId blocked = StringId::kNone;  // the system call it was blocked in; kNone: it ran
};

// A running thread was in code of a native library other than the interpreter's and PyTorch's. Each
// sample stands for the same CPU time of its thread: meta native_period_ns.
struct NativeSample {
  WatchedThreadId thread = WatchedThreadId::kNone;
  SessionTime at;
  StringId library = StringId::kNone;  // its path
};

// Events that were not recorded. Loss is data: it is stored, shown, and lowers a verdict's
// confidence.
struct Loss {
  ThreadId thread = ThreadId::kNone;  // kNone: of the whole process
  std::string kind;                   // "op", "phase", "name", "depth", "thread", …: docs/schema.md
  std::int64_t count = 0;
};

}  // namespace stepscope
