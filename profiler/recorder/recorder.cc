#include "profiler/recorder/recorder.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "profiler/recorder/process_info.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;

// At a million ops a second a default ring fills in 65 ms; a busy drain comes back within a few.
constexpr milliseconds kDrainPeriod{10};
constexpr milliseconds kBusyDrainPeriod{1};

// How old the store is at most to somebody who reads it meanwhile. Four commits a second
// are cheap, and large transactions are what makes SQLite fast.
constexpr std::int64_t kFlushPeriodNs = 250'000'000;

// The first rate is measured over 2 ms and good to some 20 ppm; then the clock is steered each
// second.
constexpr milliseconds kFirstCalibration{2};
constexpr std::int64_t kCalibrationPeriodNs = 1'000'000'000;

// The recorder's thread takes none of the program's signals.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

Status set_all_meta(TraceWriter& writer, const Recorder::Meta& meta) {
  for (const auto& [key, value] : meta) {
    if (Status status = writer.set_meta(key, value); !status.ok()) return status;
  }
  return {};
}

// The wall clock at session time 0.
std::int64_t wall_start_unix_ns(const ClockMap& clock) {
  const std::int64_t offset = read_clock_ns(CLOCK_REALTIME) - read_clock_ns(CLOCK_MONOTONIC);
  return clock.monotonic_start_ns() + offset;
}

ClockMap start_clock() {
  const ClockReading first = read_clocks();
  std::this_thread::sleep_for(kFirstCalibration);
  return {first, read_clocks()};
}

}  // namespace

// What the recorder keeps of one ring.
struct Recorder::DrainedRing {
  DrainedRing(ThreadRing& ring, const Thread& described, ThreadId id, DecodeContext& context)
      : consumer(ring.header), decoder(id, context), thread(described) {}

  // Slots and losses of an earlier recording.
  void skip_what_is_there() {
    consumer.release(consumer.published().end);
    for (std::size_t i = 0; i < lost_before.size(); ++i) {
      lost_before[i] = static_cast<std::int64_t>(consumer.header().lost[i].load());
    }
  }

  RingConsumer consumer;
  RingDecoder decoder;
  Thread thread;
  std::array<std::int64_t, kLossKindCount> lost_before{};
  std::array<std::int64_t, kLossKindCount> stored_losses{};
  std::int64_t stored_corrupt = 0;
};

Result<std::unique_ptr<Recorder>> Recorder::start(const std::filesystem::path& output,
                                                  RingRegistry& rings, const Meta& meta,
                                                  std::function<void(const Status&)> on_failure) {
  auto writer = TraceWriter::create(output);
  if (!writer.ok()) return writer.status();
  std::unique_ptr<Recorder> recorder(
      new Recorder(std::move(*writer), rings, start_clock(), std::move(on_failure)));
  TraceWriter& store = *recorder->writer_;
  if (Status status = set_all_meta(store, meta); !status.ok()) return status;
  const Meta anchors{{"clock", kTicksAreTsc ? "tsc" : "monotonic"},
                     {"wall_start_unix_ns", std::to_string(wall_start_unix_ns(recorder->clock_))},
                     {"monotonic_start_ns", std::to_string(recorder->clock_.monotonic_start_ns())}};
  if (Status status = set_all_meta(store, anchors); !status.ok()) return status;
  const auto process = store.add_process(this_process());
  if (!process.ok()) return process.status();
  recorder->process_ = *process;
  // Flushed now, so that who looks finds a store, and a disk that is full already is told at once.
  if (Status status = store.flush(); !status.ok()) return status;

  for (ThreadRing* ring : rings.rings()) {
    const auto made = recorder->drained(*ring);
    if (!made.ok()) return made.status();
    (*made)->skip_what_is_there();
  }
  const BlockedSignals blocked;  // inherited by the thread
  recorder->thread_ = std::thread([self = recorder.get()] { self->run(); });
  return recorder;
}

Recorder::Recorder(std::unique_ptr<TraceWriter> writer, RingRegistry& rings, ClockMap clock,
                   std::function<void(const Status&)> on_failure)
    : rings_(rings),
      on_failure_(std::move(on_failure)),
      writer_(std::move(writer)),
      clock_(std::move(clock)),
      refused_threads_before_(rings.refused_threads()) {}

Recorder::~Recorder() {
  if (thread_.joinable()) (void)stop({});
}

Status Recorder::stop(const Meta& meta) {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    last_meta_ = meta;
  }
  wake_.notify_one();
  thread_.join();
  return failure_;
}

// On the recorder's thread like all writing: the caller's may have SIGXFSZ unblocked.
Status Recorder::finish() {
  const SessionTime end = clock_.to_session(read_ticks());
  if (Status status = drain(); !status.ok()) return status;
  if (Status status = set_all_meta(*writer_, last_meta_); !status.ok()) return status;
  if (Status status = writer_->set_meta("end_ns", std::to_string(to_ns(end))); !status.ok()) {
    return status;
  }
  return writer_->finish();
}

void Recorder::run() {
  pthread_setname_np(pthread_self(), "stepscope");
  last_flush_ns_ = last_calibration_ns_ = read_clock_ns(CLOCK_MONOTONIC);
  std::unique_lock lock(mutex_);
  while (!stopping_ && failure_.ok()) {
    wake_.wait_for(lock, busy_ ? kBusyDrainPeriod : kDrainPeriod, [this] { return stopping_; });
    lock.unlock();  // the store may block on the disk; stop() must not wait for it to ask
    steer_clock();
    Status status = drain();
    const std::int64_t now = read_clock_ns(CLOCK_MONOTONIC);
    if (status.ok() && now - last_flush_ns_ > kFlushPeriodNs) {
      status = writer_->flush();
      last_flush_ns_ = now;
    }
    if (!status.ok()) fail(status);
    lock.lock();
  }
  lock.unlock();
  if (failure_.ok()) failure_ = finish();
}

void Recorder::steer_clock() {
  const ClockReading now = read_clocks();
  if (now.monotonic_ns - last_calibration_ns_ < kCalibrationPeriodNs) return;
  clock_.recalibrate(now);
  last_calibration_ns_ = now.monotonic_ns;
}

Status Recorder::drain() {
  busy_ = false;
  for (ThreadRing* ring : rings_.rings()) {
    if (Status status = drain_ring(*ring); !status.ok()) return status;
  }
  return store_loss(ThreadId::kNone, "thread", rings_.refused_threads() - refused_threads_before_,
                    stored_refused_threads_);
}

Status Recorder::drain_ring(ThreadRing& ring) {
  const auto found = drained(ring);
  if (!found.ok()) return found.status();
  DrainedRing& drained = **found;
  const RingHeader& header = drained.consumer.header();
  // Before the slots: what a thread wrote before it ended is then among them.
  const bool closed = header.state.load(std::memory_order_acquire) == RingState::kClosed;

  if (Status status = update_torch_id(drained, header); !status.ok()) return status;
  const RingConsumer::Batch batch = drained.consumer.published();
  busy_ = busy_ || batch.size() > drained.consumer.slot_count() / 4;
  drained.decoder.decode(drained.consumer, batch, clock_, decoded_);
  drained.consumer.release(batch.end);
  if (Status status = write_decoded(); !status.ok()) return status;
  if (Status status = store_losses(drained, header); !status.ok()) return status;
  if (closed) {
    drained_.erase(&header);
    rings_.release_closed(&ring);
  }
  return {};
}

Result<Recorder::DrainedRing*> Recorder::drained(ThreadRing& ring) {
  const auto known = drained_.find(ring.header);
  if (known != drained_.end()) return known->second.get();
  Thread thread;
  thread.process = process_;
  thread.tid = ring.header->tid;
  thread.torch_id = ring.header->torch_id.load(std::memory_order_relaxed);
  thread.name = ring.header->thread_name;
  const auto id = writer_->add_thread(thread);
  if (!id.ok()) return id.status();
  auto drained = std::make_unique<DrainedRing>(ring, thread, *id, *this);
  if (thread.torch_id != 0) threads_by_torch_id_[thread.torch_id] = *id;
  return drained_.emplace(ring.header, std::move(drained)).first->second.get();
}

// A thread's torch id is known with its first op, its ring perhaps earlier.
Status Recorder::update_torch_id(DrainedRing& drained, const RingHeader& header) {
  const std::uint32_t torch_id = header.torch_id.load(std::memory_order_relaxed);
  if (torch_id == drained.thread.torch_id) return {};
  drained.thread.torch_id = torch_id;
  threads_by_torch_id_[torch_id] = drained.decoder.thread();
  return writer_->update_thread(drained.decoder.thread(), drained.thread);
}

Status Recorder::write_decoded() {
  Status status;
  if (!decoded_.ops.empty()) status = writer_->add_ops(decoded_.ops);
  if (status.ok() && !decoded_.phases.empty()) status = writer_->add_phases(decoded_.phases);
  decoded_.ops.clear();
  decoded_.phases.clear();
  return status;
}

Status Recorder::store_losses(DrainedRing& drained, const RingHeader& header) {
  const ThreadId thread = drained.decoder.thread();
  for (int i = 0; i < kLossKindCount; ++i) {
    const auto kind = static_cast<std::size_t>(i);
    const auto total = static_cast<std::int64_t>(header.lost[i].load(std::memory_order_relaxed));
    Status status = store_loss(thread, loss_name(static_cast<LossKind>(i)),
                               total - drained.lost_before[kind], drained.stored_losses[kind]);
    if (!status.ok()) return status;
  }
  return store_loss(thread, "corrupt", drained.decoder.corrupt_slots(), drained.stored_corrupt);
}

Status Recorder::store_loss(ThreadId thread, const char* kind, std::int64_t total,
                            std::int64_t& stored) {
  if (total == stored) return {};
  const std::int64_t more = total - stored;
  stored = total;
  return writer_->add_loss({thread, kind, more});
}

void Recorder::fail(const Status& status) {
  failure_ = status;
  on_failure_(status);
}

StringId Recorder::intern(std::string_view text) { return writer_->intern(text); }

ThreadId Recorder::thread_of_torch_id(std::uint32_t torch_id) {
  const auto found = threads_by_torch_id_.find(torch_id);
  return found == threads_by_torch_id_.end() ? ThreadId::kNone : found->second;
}

}  // namespace stepscope
