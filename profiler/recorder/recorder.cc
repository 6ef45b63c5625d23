#include "profiler/recorder/recorder.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "profiler/recorder/pace.h"
#include "profiler/recorder/process_info.h"
#include "profiler/recorder/store_meta.h"
#include "store/contained.h"

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

template <typename Work>
Status start_thread(std::thread& thread, const std::string& output, Work work) {
  try {
    thread = std::thread(std::move(work));
    return {};
  } catch (const std::system_error& error) {
    return Status::error(ErrorKind::kIo, output + ": not recorded: no thread could be started (" +
                                             error.code().message() +
                                             "); raise the limit on processes (ulimit -u)");
  }
}

}  // namespace

Status Recorder::start(const RecorderStart& start, std::unique_ptr<Recorder>& recorder) noexcept {
  const BlockedSignals blocked;  // inherited by both threads
  Status started = contained([&] {
    // Not on the caller's thread: who writes past a limit of the file size gets SIGXFSZ, and
    // blocking would only delay it.
    Status opened;
    std::thread opener;
    Status status = start_thread(
        opener, start.output, [&] { opened = contained([&] { return open(start, recorder); }); });
    if (!status.ok()) return status;
    opener.join();
    if (!opened.ok()) return opened;
    Recorder& self = *recorder;
    return start_thread(self.thread_, start.output, [&self] { self.run(); });
  });
  if (!started.ok()) recorder.reset();
  return started;
}

Status Recorder::open(const RecorderStart& start, std::unique_ptr<Recorder>& recorder) {
  auto writer = TraceWriter::create(start.output);
  if (!writer.ok()) return writer.status();
  recorder.reset(new Recorder(start, std::move(*writer)));
  TraceWriter& store = *recorder->writer_;
  if (Status status = set_all_meta(store, machine_meta()); !status.ok()) return status;
  if (Status status = set_all_meta(store, start.meta); !status.ok()) return status;
  if (Status status = set_all_meta(store, recorder->clock_.anchors()); !status.ok()) return status;
  const auto process = store.add_process(this_process());
  if (!process.ok()) return process.status();
  recorder->drain_ =
      std::make_unique<ProcessDrain>(start.region, *process, store, recorder->clock_.map());
  // Flushed now: readers always find a valid store, and a full disk fails at once.
  if (Status status = store.flush(); !status.ok()) return status;
  return recorder->drain_->skip_what_is_there();
}

Recorder::Recorder(const RecorderStart& start, std::unique_ptr<TraceWriter> writer)
    : on_failure_(start.on_failure), missing_(start.output), writer_(std::move(writer)) {}

Recorder::~Recorder() {
  if (thread_.joinable()) static_cast<void>(stop({}));
}

Status Recorder::stop(const Meta& meta) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    last_meta_ = &meta;
  }
  wake_.notify_one();
  thread_.join();
  return std::move(failure_);
}

// On the recorder's thread like all writing: the caller's may have SIGXFSZ unblocked.
Status Recorder::finish() {
  const SessionTime end = clock_.now();
  if (Status status = drain_->drain(); !status.ok()) return status;
  if (Status status = set_all_meta(*writer_, *last_meta_); !status.ok()) return status;
  if (Status status = writer_->set_meta("end_ns", std::to_string(to_ns(end))); !status.ok()) {
    return status;
  }
  return writer_->finish();
}

void Recorder::run() noexcept {
  pthread_setname_np(pthread_self(), "stepscope");
  last_flush_ns_ = read_clock_ns(CLOCK_MONOTONIC);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, drain_->busy() ? kBusyDrainPeriod : kDrainPeriod,
                   [this] { return stopping_; });
    lock.unlock();  // the store may block on the disk; stop() must not wait for it to ask
    keep(contained([this] { return drain_and_flush(); }));
    lock.lock();
  }
  lock.unlock();
  if (failure_.ok()) keep(contained([this] { return finish(); }));
  if (!failure_.ok()) static_cast<void>(contained([this] { return store_what_is_missing(); }));
  // Closing a store writes to it too, so it is closed here, where SIGXFSZ is blocked.
  drain_.reset();
  writer_.reset();
}

// After a failure the rings are still drained, to count what is not written.
Status Recorder::drain_and_flush() {
  clock_.steer();
  if (Status status = drain_->drain(); !status.ok()) return status;
  const std::int64_t now = read_clock_ns(CLOCK_MONOTONIC);
  if (now - last_flush_ns_ <= kFlushPeriodNs || !failure_.ok()) return {};
  last_flush_ns_ = now;
  const Status status = writer_->flush();
  if (status.ok()) events_flushed_ = drain_->totals().events();
  return status;
}

void Recorder::keep(Status status) noexcept {
  if (status.ok() || !failure_.ok()) return;
  failure_ = std::move(status);
  drain_->discard_from_now_on();
  on_failure_(failure_);
}

Status Recorder::store_what_is_missing() {
  static_cast<void>(drain_->drain());
  const std::int64_t missing = drain_->totals().events() - events_flushed_;
  writer_.reset();
  return missing_.store(missing, failure_.message());
}

}  // namespace stepscope
