// The memory of one thread's ring, as its producer (a thread of the profiled program) and its
// consumer (the recorder, which may be another process) both see it. docs/architecture.md
// describes it in prose.
//
// Position independent: offsets, no pointers. All of it is plain memory that may be mapped twice. A
// ring is a RingHeader followed by slot_count slots of 32 bytes. head and tail count slots since
// the beginning and never wrap (2^64); slot i lies at i % slot_count.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "store/events.h"

namespace stepscope {

enum class SlotKind : std::uint8_t {
  kOp = 1,         // OpSlot
  kPhase = 2,      // PhaseSlot
  kName = 3,       // NameSlot and the following slots, which continue its text
  kShapes = 4,     // ShapesSlot; belongs to the kOp that follows it
  kForeignOp = 5,  // OpSlot of an op that began on thread `forward_thread` (a torch id), ended here
  kStretch = 6,    // StretchSlot
  kModule = 7,     // ModuleSlot
  kModuleName = 8,  // as kName, for a module: the root module's class, then its own name and class
  kStack = 9,       // StackSlot and the following slots, which hold its addresses
};

// Op and phase names are numbered per ring; a NameSlot precedes the first use of its number.
// A number never stands for a second text.
enum class NameId : std::uint32_t { kNone = 0 };

inline constexpr std::uint32_t kNoSequence = 0xffffffff;

struct OpSlot {
  SlotKind kind;
  std::uint8_t scope;  // OpScope
  std::uint8_t phase;  // PhaseKind
  std::uint8_t depth;  // saturates at 255
  NameId name;
  std::uint64_t start;     // ticks
  std::uint64_t end;       // ticks
  std::uint32_t sequence;  // low 32 bits; kNoSequence: none
  std::uint32_t forward_thread;
};

struct PhaseSlot {
  SlotKind kind;
  std::uint8_t phase;  // PhaseKind
  std::uint16_t reserved;
  NameId name;
  std::uint64_t start;   // ticks
  std::uint64_t end;     // ticks
  std::uint64_t cpu_ns;  // CLOCK_THREAD_CPUTIME_ID, end minus start; input and scopes only
};

struct NameSlot {
  SlotKind kind;
  std::uint8_t reserved[3];
  NameId name;
  std::uint32_t length;  // bytes of text, at most kMaxNameLength
  char text[20];         // continues in the following slots
};

struct ShapesSlot {
  SlotKind kind;
  std::uint8_t reserved[3];
  NameId shapes;
  std::uint64_t unused[3];
};

// How the thread was scheduled from one mark to another: ThreadSchedule::Stretch.
struct StretchSlot {
  SlotKind kind;
  std::uint8_t reserved[3];
  std::uint32_t starved_us;  // saturates after 71 minutes
  std::uint64_t start;       // ticks
  std::uint64_t end;         // ticks
  std::uint64_t run_ns;
};

// A call of a Python module (torch.nn.Module) that has ended.
struct ModuleSlot {
  SlotKind kind;
  std::uint8_t phase;  // PhaseKind: the thread's phase
  std::uint8_t depth;  // open calls around this one
  std::uint8_t reserved;
  NameId name;              // a kModuleName
  std::uint64_t start;      // ticks
  std::uint64_t end;        // ticks
  std::int64_t held_bytes;  // tensor memory it allocated and left held; kHeldUnknown: not counted
};
inline constexpr std::int64_t kHeldUnknown = std::numeric_limits<std::int64_t>::min();
// Separates the parts of a kModuleName.
inline constexpr char kModulePart = '\n';

// The time between two sampled moments. A sample may need two stacks.
inline constexpr std::int64_t kStackPeriodNs = 20'000'000;
// If ops, and stacks with them, are recorded in some steps only, moments are sampled this many
// times as often.
inline constexpr std::uint8_t kStackRateInSomeSteps = 10;

// A native call stack, taken at the end of a stretch: the time between two events of the thread.
// The addresses follow: first the stack where the stretch ended, then the stack where it began,
// each innermost frame first. Each address lies inside the instruction that its frame is executing.
struct StackSlot {
  SlotKind kind;
  std::uint8_t end_frames;    // at most kMaxStackFrames
  std::uint8_t begin_frames;  // the same; 0: that stack was not taken
  std::uint8_t rate;          // the moments were kStackPeriodNs / rate apart; 0 is read as 1
  std::uint32_t place;        // where it began, from the events before it; equal in each iteration
  std::uint64_t start;        // ticks
  std::uint64_t end;          // ticks
  std::uint64_t due;          // ticks; the sampled moment, which lies inside the stretch
};

union Slot {
  SlotKind kind;
  OpSlot op;
  PhaseSlot phase;
  NameSlot name;
  ShapesSlot shapes;
  StretchSlot stretch;
  ModuleSlot module;
  StackSlot stack;
  std::uint64_t addresses[4];  // of a stack sample
};
static_assert(sizeof(Slot) == 32 && sizeof(OpSlot) == 32 && sizeof(PhaseSlot) == 32);
static_assert(sizeof(NameSlot) == 32 && sizeof(ShapesSlot) == 32);
static_assert(sizeof(StretchSlot) == 32 && sizeof(ModuleSlot) == 32 && sizeof(StackSlot) == 32);

inline constexpr std::uint32_t kMaxNameLength = 2000;  // longer names are cut at a UTF-8 boundary

constexpr std::uint32_t name_slots(std::uint32_t length) {
  constexpr std::uint32_t first = sizeof(NameSlot::text);
  constexpr std::uint32_t slot = sizeof(Slot);
  return length <= first ? 1 : 1 + (length - first + slot - 1) / slot;
}

inline constexpr std::uint32_t kMaxStackFrames = 64;  // of a deeper stack, the innermost

constexpr std::uint32_t stack_slots(std::uint32_t end_frames, std::uint32_t begin_frames) {
  constexpr std::uint32_t slot = sizeof(Slot::addresses) / sizeof(std::uint64_t);
  return 1 + (end_frames + begin_frames + slot - 1) / slot;
}

// How many slots the event in `first` takes. The ring may hold arbitrary bytes.
inline std::uint64_t slots_of(const Slot& first) {
  const bool is_name = first.kind == SlotKind::kName || first.kind == SlotKind::kModuleName;
  if (is_name && first.name.length <= kMaxNameLength) return name_slots(first.name.length);
  const StackSlot& stack = first.stack;
  if (stack.kind == SlotKind::kStack && stack.end_frames <= kMaxStackFrames &&
      stack.begin_frames <= kMaxStackFrames) {
    return stack_slots(stack.end_frames, stack.begin_frames);
  }
  return 1;
}

// Ops leave this many slots free, so that a flood of ops never costs a phase or step mark.
inline constexpr std::uint64_t kReservedForMarks = 512;

// An event is dropped and counted by kind if the ring is full or (kDepth) if it is nested too
// deeply. Modules count as kOp. The thread never waits. The counts are in the header and stored as
// `loss` rows.
enum class LossKind : std::uint8_t { kOp, kPhase, kName, kDepth };
inline constexpr int kLossKindCount = 4;
const char* loss_name(LossKind kind);  // "op", "phase", "name", "depth"

// An op that has begun and not ended. It is in the ring's memory, so that a reader can tell after
// the program's death which op it died in.
struct OpenOp {
  std::uint64_t identity;  // address of the RecordFunction
  std::uint64_t start;     // ticks
  NameId name;
  NameId shapes;
  std::uint32_t sequence;
  std::uint32_t forward_thread;
  std::uint8_t scope;
  std::uint8_t phase;
};
inline constexpr std::uint32_t kMaxOpenOps = 128;
// The greatest depth of nested module calls that is recorded.
inline constexpr std::uint32_t kMaxOpenModules = 64;

// kClosed: the thread ended. kFree: the thread ended and everything was drained; another thread may
// take the ring.
enum class RingState : std::uint32_t { kOpen, kClosed, kFree };

inline constexpr std::uint32_t kRingMagic = 0x47525353;  // "SSRG"
inline constexpr std::uint32_t kRingVersion = 8;

// CPU tensor memory since the ring was created; the counts continue when another thread takes the
// ring. One thread may free what another allocated, so only the sum over all rings is meaningful.
struct TensorMemory {
  std::atomic<std::uint64_t> allocations;
  std::atomic<std::uint64_t> allocated_bytes;
  // By MemoryOwner; only blocks of at least PointerTable::kMin.
  std::atomic<std::int64_t> held_bytes[kMemoryOwnerCount];
};

struct RingHeader {
  // Constant once the ring is published.
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t slot_count;  // a power of two
  std::int32_t pid;
  // Of the thread that owns the ring now; constant while the ring is open.
  std::int32_t tid;
  std::atomic<std::uint32_t> generation;  // counts the threads that have owned it
  char thread_name[16];

  std::atomic<std::uint32_t> torch_id;  // at::RecordFunction::currentThreadId(), 0 until known
  std::atomic<RingState> state;

  // Written by the producer: slots [0, ready_slots) have memory. Only they may be touched.
  std::atomic<std::uint32_t> ready_slots;

  // Written by the producer.
  alignas(64) std::atomic<std::uint64_t> head;
  std::atomic<std::uint64_t> lost[kLossKindCount];
  TensorMemory memory;
  // Written by the consumer.
  alignas(64) std::atomic<std::uint64_t> tail;
  // Written by the producer: open_ops[0, min(open_depth, kMaxOpenOps)) are open, outermost first.
  alignas(64) std::atomic<std::uint32_t> open_depth;
  OpenOp open_ops[kMaxOpenOps];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace stepscope
