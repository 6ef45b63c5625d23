#include "profiler/recorder/recorder.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "profiler/recorder/pace.h"
#include "profiler/recorder/process_info.h"
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
  auto created = StoreSession::create(start.output, start.meta);
  if (!created.ok()) return created.status();
  recorder.reset(new Recorder(*std::move(created)));
  StoreSession& session = *recorder->session_;
  session.set_on_failure(start.on_failure);
  const auto process = session.writer().add_process(this_process());
  if (!process.ok()) return process.status();
  recorder->drain_ = &session.open_drain(start.region, *process);
  // Flushed now: readers always find a valid store, and a full disk fails at once.
  if (Status status = session.flush(); !status.ok()) return status;
  return recorder->drain_->skip_what_is_there();
}

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
  return std::move(outcome_);
}

void Recorder::run() noexcept {
  pthread_setname_np(pthread_self(), "stepscope");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, drain_->busy() ? kBusyDrainPeriod : kDrainPeriod,
                   [this] { return stopping_; });
    lock.unlock();  // the store may block on the disk; stop() must not wait for it to ask
    session_->attempt([this] { return look(); });
    lock.lock();
  }
  lock.unlock();
  const SessionTime end = session_->now();
  session_->attempt([this] { return drain_->drain(); });
  // On this thread like all writing: the caller's may have SIGXFSZ unblocked.
  outcome_ = session_->finish(*last_meta_, end);
}

// After a failure the rings are still drained, to count what is not written.
Status Recorder::look() {
  session_->steer_clock();
  if (Status status = drain_->drain(); !status.ok() || session_->failed()) return status;
  if (Status status = sample(); !status.ok()) return status;
  return session_->flush_is_due() ? session_->flush() : Status();
}

Status Recorder::sample() {
  const std::int64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (now_ns - last_sample_ns_ < kSamplePeriodNs) return {};
  last_sample_ns_ = now_ns;
  const SessionTime now = session_->now();
  const Status status = counters_.store(session_->writer(), *drain_, now);
  return status.ok() ? store_machine_samples(session_->writer(), machine_, now) : status;
}

}  // namespace stepscope
