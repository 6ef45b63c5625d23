#include "profiler/recorder/recorder.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <optional>
#include <utility>

#include "profiler/recorder/pace.h"
#include "profiler/recorder/process_info.h"
#include "profiler/recorder/store_meta.h"

namespace stepscope {
namespace {

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

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::start(const RecorderStart& start) {
  const BlockedSignals blocked;  // inherited by both threads
  std::optional<Result<std::unique_ptr<Recorder>>> opened;
  // Not on the caller's thread: who writes past a limit of the file size gets SIGXFSZ, and blocking
  // would only delay it.
  std::thread([&] { opened = open(start); }).join();
  if (!opened->ok()) return opened->status();
  Recorder* recorder = (**opened).get();
  recorder->thread_ = std::thread([recorder] { recorder->run(); });
  return std::move(**opened);
}

Result<std::unique_ptr<Recorder>> Recorder::open(const RecorderStart& start) {
  auto writer = TraceWriter::create(start.output);
  if (!writer.ok()) return writer.status();
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(*writer), start.on_failure));
  TraceWriter& store = *recorder->writer_;
  if (Status status = set_all_meta(store, machine_meta()); !status.ok()) return status;
  if (Status status = set_all_meta(store, start.meta); !status.ok()) return status;
  if (Status status = set_all_meta(store, recorder->clock_.anchors()); !status.ok()) return status;
  const auto process = store.add_process(this_process());
  if (!process.ok()) return process.status();
  recorder->drain_ =
      std::make_unique<ProcessDrain>(start.region, *process, store, recorder->clock_.map());
  // Flushed now, so that who looks finds a store, and a disk that is full already is told at once.
  if (Status status = store.flush(); !status.ok()) return status;
  if (Status status = recorder->drain_->skip_what_is_there(); !status.ok()) return status;
  return recorder;
}

Recorder::Recorder(std::unique_ptr<TraceWriter> writer,
                   std::function<void(const Status&)> on_failure)
    : on_failure_(std::move(on_failure)), writer_(std::move(writer)) {}

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
  const SessionTime end = clock_.now();
  if (Status status = drain_->drain(); !status.ok()) return status;
  if (Status status = set_all_meta(*writer_, last_meta_); !status.ok()) return status;
  if (Status status = writer_->set_meta("end_ns", std::to_string(to_ns(end))); !status.ok()) {
    return status;
  }
  return writer_->finish();
}

void Recorder::run() {
  pthread_setname_np(pthread_self(), "stepscope");
  last_flush_ns_ = read_clock_ns(CLOCK_MONOTONIC);
  std::unique_lock lock(mutex_);
  while (!stopping_ && failure_.ok()) {
    wake_.wait_for(lock, drain_->busy() ? kBusyDrainPeriod : kDrainPeriod,
                   [this] { return stopping_; });
    lock.unlock();  // the store may block on the disk; stop() must not wait for it to ask
    clock_.steer();
    if (const Status status = drain_and_flush(); !status.ok()) fail(status);
    lock.lock();
  }
  lock.unlock();
  if (failure_.ok()) failure_ = finish();
  // Closing a store writes to it too, so it is closed here, where SIGXFSZ is blocked.
  drain_.reset();
  writer_.reset();
}

Status Recorder::drain_and_flush() {
  if (Status status = drain_->drain(); !status.ok()) return status;
  const std::int64_t now = read_clock_ns(CLOCK_MONOTONIC);
  if (now - last_flush_ns_ <= kFlushPeriodNs) return {};
  last_flush_ns_ = now;
  return writer_->flush();
}

void Recorder::fail(const Status& status) {
  failure_ = status;
  on_failure_(status);
}

}  // namespace stepscope
