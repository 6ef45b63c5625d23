#include "profiler/recorder/recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "profiler/identity/source_state.h"
#include "profiler/recorder/blocked_signals.h"
#include "profiler/recorder/loaded_versions.h"
#include "profiler/recorder/other_cpus.h"
#include "profiler/recorder/pace.h"
#include "profiler/recorder/process_info.h"
#include "profiler/recorder/run_meta.h"
#include "profiler/ring/stack_taker.h"
#include "store/contained.h"

namespace stepscope {
namespace {

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
    // Not on the caller's thread: a write past the file size limit raises SIGXFSZ in the writing
    // thread, and blocking the signal would only delay it.
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
  if (!started.ok() && recorder != nullptr) recorder->session_->discard();
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
  if (Status status = recorder->drain_->discard_backlog(); !status.ok()) return status;
  recorder->collector_.add(recorder->drain_->backlog());
  recorder->take_stacks(start.region);
  return {};
}

void Recorder::take_stacks(const Region& region) {
  region.header->plan.stack_period_ticks =
      static_cast<std::uint32_t>(session_->clock().ticks_in(kStackPeriodNs));
  stacks_.add_native(getpid(), OwnedFd(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)));
  drain_->set_on_stacks([this](pid_t tid, std::vector<NativeStack>&& stacks) {
    stacks_.take(getpid(), tid, stacks);
  });
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
  // Only reads files: a training program must not be forked behind its back.
  session_->attempt([this] {
    for (const std::filesystem::path& folder : own_source_folders()) {
      const std::filesystem::path root = repository_of(folder);
      if (root.empty()) continue;
      facts_ = source_meta(read_source_state(root));
      break;
    }
    return Status();
  });
  OtherCpus cpus;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, look_period(!held_ && drain_->busy(), collector_.is_running()),
                   [this] { return stopping_; });
    lock.unlock();  // the store may block on the disk; stop() must not wait for it
    session_->attempt([this] { return look(); });
    collector_.keep_off_writers(cpus);
    lock.lock();
  }
  lock.unlock();
  const SessionTime end = session_->now();
  session_->attempt([this] { return session_->lock_at_end(); });
  session_->attempt([this] { return drain_->drain(); });
  session_->attempt([this] {
    if (session_->failed()) return Status();
    return stacks_.finish(session_->writer(), threads_, session_->clock());
  });
  session_->attempt([this] {
    const Meta versions = loaded_versions(getpid());
    facts_.insert(facts_.end(), versions.begin(), versions.end());
    return store_facts();
  });
  // Written on this thread, like everything: the caller's thread may have SIGXFSZ unblocked.
  outcome_ = session_->finish(*last_meta_, end);
  drain_->close();  // the rings now belong to the next recording
}

Status Recorder::store_facts() {
  if (session_->failed()) return {};
  for (const auto& [key, value] : facts_) {
    if (Status status = session_->set_meta(key, value); !status.ok()) return status;
  }
  facts_.clear();
  return {};
}

// After a failure, the rings are still drained, to count the events that are not written.
Status Recorder::look() {
  session_->steer_clock();
  held_ = !session_->lock();
  if (held_) return {};
  if (Status status = drain_->drain(); !status.ok() || session_->failed()) return status;
  if (Status status = store_facts(); !status.ok()) return status;
  if (Status status = sample(); !status.ok()) return status;
  const Status status = session_->flush_is_due() ? session_->flush() : Status();
  session_->unlock_if_unused();
  return status;
}

Status Recorder::sample() {
  const std::int64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (now_ns - last_sample_ns_ < kSamplePeriodNs) return {};
  last_sample_ns_ = now_ns;
  const SessionTime now = session_->now();
  Status status = counters_.store(session_->writer(), *drain_, now);
  const ThreadWatch::Root self{getpid(), drain_->process()};
  if (status.ok()) status = stacks_.store(session_->writer(), threads_, session_->clock());
  if (status.ok()) status = threads_.store(session_->writer(), {&self, 1}, now);
  return status.ok() ? store_machine_samples(session_->writer(), machine_, now) : status;
}

}  // namespace stepscope
