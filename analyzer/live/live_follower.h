// Follows a store while it is being recorded: a thread at low priority looks at it from time to
// time, as `stepscope top` does. Runs in the process that records, never in the program.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "analyzer/live/live_run.h"
#include "store/mutex.h"
#include "store/status.h"

namespace stepscope {

// Thread safety: for one thread, except follow(). From start() to stop(), it has its own thread,
// which alone calls the functions of its Work.
class LiveFollower {
 public:
  struct Work {
    std::function<Status(const LiveFrame&)> take;  // the latest frame
    // After each look: what take() returned or threw, or why the store could not be read. The next
    // look may succeed.
    std::function<void(const Status&)> done;
  };

  // `phases`: how many each frame has (LiveRun::open()).
  explicit LiveFollower(Work work, std::size_t phases = kLivePhases)
      : work_(std::move(work)), phases_(phases) {}
  ~LiveFollower() { stop(); }
  LiveFollower(const LiveFollower&) = delete;
  LiveFollower& operator=(const LiveFollower&) = delete;

  // The first look comes `first` after follow(), later ones at least `period` apart, and so seldom
  // that they take at most a fiftieth of a core. Call after the program was started, because that
  // is a fork(). Errors: kIo.
  Status start(std::chrono::milliseconds first, std::chrono::milliseconds period);
  // From now on, the recording is in this store. Only the first call counts.
  void follow(const std::filesystem::path& store);
  // Waits for a look that has begun. The store stays open until close().
  void stop();
  // After stop(): looks once more. Does nothing if there is no store.
  void look();
  void close() { run_.reset(); }

  // The store that is followed, and what is known of it. For take(), and after stop().
  [[nodiscard]] const std::filesystem::path& store() const { return store_; }
  [[nodiscard]] const TraceTail& recording() const { return run_->recording(); }

 private:
  void run(std::chrono::milliseconds first, std::chrono::milliseconds period);
  // Both return false if it is time to stop.
  bool wait_for_store();
  bool wait(std::chrono::milliseconds duration);
  Status try_to_look();

  const Work work_;
  const std::size_t phases_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool stopping_ STEPSCOPE_GUARDED_BY(mutex_) = false;
  std::filesystem::path followed_ STEPSCOPE_GUARDED_BY(mutex_);
  // Only the thread uses these until it has ended.
  std::filesystem::path store_;
  std::unique_ptr<LiveRun> run_;
  std::thread thread_;
};

}  // namespace stepscope
