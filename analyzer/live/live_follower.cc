#include "analyzer/live/live_follower.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <system_error>

#include "store/contained.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;

// The thread rests this many times as long as it worked.
constexpr int kRest = 50;

milliseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return milliseconds(time.tv_sec * 1000 + time.tv_nsec / 1'000'000);
}

// On a busy machine, this thread gets a tenth of what the training gets, like `stepscope top`.
void yield_to_training() {
  constexpr int kNice = 10;
  // On Linux, of this thread and of the processes that it starts.
  ::setpriority(PRIO_PROCESS, 0, kNice);
}

}  // namespace

Status LiveFollower::start(milliseconds first, milliseconds period) {
  try {
    thread_ = std::thread([this, first, period] {
      const Status status = contained([&] {
        run(first, period);
        return Status();
      });
      if (!status.ok()) work_.done(status);
    });
  } catch (const std::system_error&) {
    return Status::error(ErrorKind::kIo, "cannot start a thread; raise ulimit -u");
  }
  return {};
}

void LiveFollower::follow(const std::filesystem::path& store) {
  const MutexLock lock(mutex_);
  if (!followed_.empty()) return;
  followed_ = store;
  changed_.notify_all();
}

void LiveFollower::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  const MutexLock lock(mutex_);
  store_ = followed_;
}

void LiveFollower::run(milliseconds first, milliseconds period) {
  yield_to_training();
  if (!wait_for_store()) return;
  milliseconds pause = first;
  while (wait(pause)) {
    const milliseconds before = processor_time();
    look();
    pause = std::max(period, (processor_time() - before) * kRest);
  }
}

void LiveFollower::look() {
  if (!store_.empty()) work_.done(contained([this] { return try_to_look(); }));
}

Status LiveFollower::try_to_look() {
  if (run_ == nullptr) {
    auto opened = LiveRun::open(store_, phases_);
    if (!opened.ok()) return opened.status();
    run_ = *std::move(opened);
  }
  const auto frame = run_->refresh();
  if (!frame.ok()) {
    run_.reset();
    return frame.status();
  }
  return work_.take(**frame);
}

bool LiveFollower::wait_for_store() {
  const MutexLock lock(mutex_);
  while (!stopping_ && followed_.empty()) changed_.wait(mutex_);
  store_ = followed_;
  return !stopping_;
}

bool LiveFollower::wait(milliseconds duration) {
  const auto until = std::chrono::steady_clock::now() + duration;
  const MutexLock lock(mutex_);
  while (!stopping_ && changed_.wait_until(mutex_, until)) {
  }
  return !stopping_;
}

}  // namespace stepscope
