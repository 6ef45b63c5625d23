#include "profiler/recorder/process_drain.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "store/limits.h"

namespace stepscope {
namespace {

// How much one of the program's counters has grown. It lies in the program's memory and may be
// anything, so the result is at most kMaxLost, which can be summed without overflow.
std::int64_t growth(std::uint64_t now, std::int64_t before) {
  const std::uint64_t more = now - static_cast<std::uint64_t>(before);
  return static_cast<std::int64_t>(std::min<std::uint64_t>(more, kMaxLost));
}

// The name of a scope of our Python module (profiler/python/stepscope/_groups.py).
constexpr std::string_view kGroupsMark = "parallel groups: ";

// The text comes from the program.
bool is_group_list(std::string_view text) {
  constexpr std::size_t kLongest = 1024;
  return text.size() <= kLongest &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_=/,") == text.npos;
}

}  // namespace

// The state of one ring while one thread owns it.
struct ProcessDrain::Ring {
  Ring(RingHeader* header, std::uint32_t slot_count, const Thread& described, ThreadId id,
       DecodeContext& context)
      : consumer(header, slot_count),
        decoder(id, context),
        thread(described),
        generation(header->generation.load(std::memory_order_relaxed)) {}

  void disregard_losses_so_far() {
    for (std::size_t i = 0; i < lost_before.size(); ++i) {
      lost_before[i] = static_cast<std::int64_t>(consumer.header().lost[i].load());
    }
  }

  RingConsumer consumer;
  RingDecoder decoder;
  std::vector<Slot> slots;  // taken from the ring; left over if an exception prevented decoding
  Thread thread;
  std::uint32_t generation;
  std::array<std::int64_t, kLossKindCount> lost_before{};
  std::array<std::int64_t, kLossKindCount> stored_losses{};
  std::int64_t stored_corrupt = 0;
};

ProcessDrain::ProcessDrain(const Region& region, ProcessId process, TraceWriter& writer,
                           const ClockMap& clock, std::shared_ptr<RingBacklog> backlog)
    : region_(region),
      backlog_(backlog != nullptr ? std::move(backlog) : std::make_shared<RingBacklog>(region)),
      process_(process),
      writer_(writer),
      clock_(clock),
      device_(*device_area(region), process, writer, clock,
              [this](std::uint32_t tid) { return thread_of_tid(tid); }) {}

ProcessDrain::~ProcessDrain() { backlog_->close(); }

std::uint32_t ProcessDrain::ring_count() const {
  return std::min(region_.header->ring_count.load(std::memory_order_acquire),
                  region_.layout.ring_capacity);
}

Status ProcessDrain::discard_backlog() {
  for (std::uint32_t i = 0; i < ring_count(); ++i) {
    const auto ring = known_ring(i);
    if (!ring.ok()) return ring.status();
    if (*ring == nullptr) continue;
    backlog_->discard(i);
    (*ring)->disregard_losses_so_far();
  }
  device_.discard_backlog();
  refused_before_ = static_cast<std::int64_t>(region_.header->refused_threads.load());
  failures_before_ = static_cast<std::int64_t>(region_.header->failures.load());
  return {};
}

ProcessDrain::Memory ProcessDrain::tensor_memory() const {
  Memory sum;
  for (std::uint32_t i = 0; i < ring_count(); ++i) {
    const TensorMemory& memory = region_.ring(i)->memory;
    sum.allocations += static_cast<std::int64_t>(memory.allocations.load());
    sum.allocated_bytes += static_cast<std::int64_t>(memory.allocated_bytes.load());
    for (std::size_t owner = 0; owner < sum.held_bytes.size(); ++owner)
      sum.held_bytes[owner] += memory.held_bytes[owner].load();
  }
  return sum;
}

Status ProcessDrain::drain() { return drain(UINT64_MAX); }

Status ProcessDrain::drain_some() { return drain(4 * RingBacklog::kMaxTaken); }

Status ProcessDrain::drain(std::uint64_t most_slots) {
  busy_ = false;
  behind_ = false;
  if (!region_) return {};
  for (std::uint32_t i = 0; i < ring_count(); ++i) {
    if (Status status = drain_ring(i, most_slots); !status.ok()) return status;
  }
  if (Status status = drain_device(false); !status.ok()) return status;
  const std::int64_t refused = growth(region_.header->refused_threads.load(), refused_before_);
  const Status status = store_loss(ThreadId::kNone, "thread", refused, stored_refused_);
  if (!status.ok()) return status;
  const std::int64_t failures = growth(region_.header->failures.load(), failures_before_);
  return store_loss(ThreadId::kNone, "failure", failures, stored_failures_);
}

// Called after the rings are drained, because their threads are known then.
Status ProcessDrain::drain_device(bool unfinished) {
  const std::int64_t lost_before = device_.lost();
  const Status status = unfinished ? device_.drain_unfinished() : device_.drain();
  totals_.device = device_.events();
  totals_.lost += device_.lost() - lost_before;
  busy_ = busy_ || device_.busy();
  return status;
}

Status ProcessDrain::drain_unfinished() {
  if (Status status = drain(); !status.ok() || !region_) return status;
  return drain_device(true);
}

void ProcessDrain::close() noexcept {
  backlog_->close();
  rings_.clear();
  region_ = {};
}

void ProcessDrain::discard_from_now_on() {
  discarding_ = true;
  device_.discard_from_now_on();
}

Status ProcessDrain::drain_ring(std::uint32_t index, std::uint64_t most_slots) {
  const auto known = known_ring(index);
  if (!known.ok()) return known.status();
  if (*known == nullptr) return {};
  Ring& ring = **known;
  // Read the state before the slots, so that the slots include all that a thread wrote before it
  // ended.
  const bool closed =
      ring.consumer.header().state.load(std::memory_order_acquire) == RingState::kClosed;

  if (Status status = update_torch_id(ring); !status.ok()) return status;
  // Only what is there now, since the thread goes on writing.
  const std::uint64_t there = backlog_->size(index) + ring.slots.size();
  busy_ = busy_ || there > ring.consumer.slot_count() / 4;
  for (std::uint64_t drained = 0; drained < std::min(there, most_slots);) {
    if (ring.slots.empty()) backlog_->take(index, ring.slots);
    if (ring.slots.empty()) break;
    drained += ring.slots.size();
    if (Status status = write(ring); !status.ok()) return status;
  }
  if (Status status = store_losses(ring); !status.ok()) return status;
  const bool left = there > most_slots;
  behind_ = behind_ || left;
  if (closed && !left) {
    ring.consumer.free();
    rings_[index].reset();
  }
  return {};
}

Result<ProcessDrain::Ring*> ProcessDrain::known_ring(std::uint32_t index) {
  if (rings_.size() <= index) rings_.resize(index + 1);
  std::unique_ptr<Ring>& ring = rings_[index];
  RingHeader* header = region_.ring(index);
  const RingState state = header->state.load(std::memory_order_acquire);
  if (state == RingState::kFree || header->magic != kRingMagic || header->version != kRingVersion) {
    ring.reset();
    return static_cast<Ring*>(nullptr);
  }
  if (ring != nullptr && ring->generation == header->generation.load(std::memory_order_relaxed)) {
    return ring.get();
  }
  Thread thread;
  thread.process = process_;
  thread.tid = header->tid;
  thread.torch_id = header->torch_id.load(std::memory_order_relaxed);
  thread.name.assign(header->thread_name,
                     strnlen(header->thread_name, sizeof(header->thread_name)));
  const auto id = thread_with_ring(thread);
  if (!id.ok()) return id.status();
  if (thread.torch_id != 0) threads_by_torch_id_[thread.torch_id] = *id;
  ring = std::make_unique<Ring>(header, region_.layout.slot_count, thread, *id, *this);
  return ring.get();
}

Result<ThreadId> ProcessDrain::thread_with_ring(const Thread& thread) {
  if (discarding_) return ThreadId::kNone;
  KnownThread& known = threads_by_tid_[static_cast<std::uint32_t>(thread.tid)];
  if (known.id != ThreadId::kNone && !known.has_ring) {
    known.has_ring = true;
    const Status status = writer_.update_thread(known.id, thread);
    return status.ok() ? Result(known.id) : status;
  }
  const auto id = writer_.add_thread(thread);
  if (id.ok()) known = {*id, true};
  return id;
}

Result<ThreadId> ProcessDrain::thread_of_tid(std::uint32_t tid) {
  // More than a machine has. Keeps a corrupted program from filling the store.
  constexpr std::size_t kMaxThreads = 1U << 16;
  const auto known = threads_by_tid_.find(tid);
  if (known != threads_by_tid_.end()) return known->second.id;
  if (threads_by_tid_.size() >= kMaxThreads) return ThreadId::kNone;
  Thread thread;
  thread.process = process_;
  thread.tid = tid;
  const auto id = writer_.add_thread(thread);
  if (id.ok()) threads_by_tid_[tid] = {*id, false};
  return id;
}

// The torch id of a thread is known from its first op on, its ring perhaps earlier.
Status ProcessDrain::update_torch_id(Ring& ring) {
  const std::uint32_t torch_id = ring.consumer.header().torch_id.load(std::memory_order_relaxed);
  if (torch_id == ring.thread.torch_id) return {};
  ring.thread.torch_id = torch_id;
  threads_by_torch_id_[torch_id] = ring.decoder.thread();
  return discarding_ ? Status() : writer_.update_thread(ring.decoder.thread(), ring.thread);
}

Status ProcessDrain::write(Ring& ring) {
  decoded_.ops.clear();  // left by an exception; its ring decodes it again
  decoded_.phases.clear();
  decoded_.stretches.clear();
  decoded_.modules.clear();
  decoded_.stacks.clear();
  ring.decoder.decode(ring.slots, clock_, decoded_);
  ring.slots.clear();
  return write_decoded(ring);
}

Status ProcessDrain::write_decoded(const Ring& ring) {
  totals_.ops += static_cast<std::int64_t>(decoded_.ops.size());
  totals_.phases += static_cast<std::int64_t>(decoded_.phases.size());
  for (const Phase& phase : decoded_.phases) {
    if (phase.kind == PhaseKind::kInput) totals_.input += phase.dur;
  }
  Status status;
  if (!discarding_ && !decoded_.ops.empty()) status = writer_.add(decoded_.ops);
  if (!discarding_ && status.ok() && !decoded_.phases.empty()) {
    status = writer_.add(decoded_.phases);
  }
  if (!discarding_ && status.ok() && !decoded_.stretches.empty()) {
    status = writer_.add(decoded_.stretches);
  }
  if (!discarding_ && status.ok() && !decoded_.modules.empty()) {
    status = writer_.add(decoded_.modules);
  }
  if (!discarding_ && status.ok() && on_stacks_ && !decoded_.stacks.empty())
    on_stacks_(static_cast<pid_t>(ring.thread.tid), std::move(decoded_.stacks));
  decoded_.ops.clear();
  decoded_.phases.clear();
  decoded_.stretches.clear();
  decoded_.modules.clear();
  decoded_.stacks.clear();
  return status;
}

Status ProcessDrain::store_losses(Ring& ring) {
  const RingHeader& header = ring.consumer.header();
  const ThreadId thread = ring.decoder.thread();
  for (int i = 0; i < kLossKindCount; ++i) {
    const auto kind = static_cast<std::size_t>(i);
    const std::int64_t total =
        growth(header.lost[i].load(std::memory_order_relaxed), ring.lost_before[kind]);
    Status status =
        store_loss(thread, loss_name(static_cast<LossKind>(i)), total, ring.stored_losses[kind]);
    if (!status.ok()) return status;
  }
  return store_loss(thread, "corrupt", ring.decoder.corrupt_slots(), ring.stored_corrupt);
}

Status ProcessDrain::store_loss(ThreadId thread, const char* kind, std::int64_t total,
                                std::int64_t& stored) {
  if (total <= stored) return {};
  const std::int64_t more = total - stored;
  stored = total;
  totals_.lost = std::min(totals_.lost + more, kMaxLost);
  return discarding_ ? Status() : writer_.add(Loss{thread, kind, more});
}

std::vector<UnfinishedOp> ProcessDrain::open_ops() const {
  std::vector<UnfinishedOp> open;
  for (const auto& ring : rings_) {
    if (ring == nullptr) continue;
    const RingHeader& header = ring->consumer.header();
    const std::uint32_t depth =
        std::min(header.open_depth.load(std::memory_order_acquire), kMaxOpenOps);
    for (std::uint32_t i = 0; i < depth; ++i) {
      const OpenOp& op = header.open_ops[i];
      const SessionTime start = clock_.to_session(Ticks{op.start});
      if (!is_storable(start)) continue;  // a corrupted program may have left anything
      open.push_back({ring->decoder.thread(), ring->decoder.text_of(op.name), start,
                      phase_of_op(op.phase), static_cast<std::uint8_t>(i)});
    }
  }
  return open;
}

StringId ProcessDrain::intern(std::string_view text) {
  if (text.starts_with(kGroupsMark) && is_group_list(text.substr(kGroupsMark.size())))
    groups_ = text.substr(kGroupsMark.size());
  return discarding_ ? StringId::kNone : writer_.intern(text);
}

ThreadId ProcessDrain::thread_of_torch_id(std::uint32_t torch_id) {
  const auto found = threads_by_torch_id_.find(torch_id);
  return found == threads_by_torch_id_.end() ? ThreadId::kNone : found->second;
}

}  // namespace stepscope
