#include "wrap/lake_follower.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <sstream>
#include <system_error>
#include <utility>

#include "profiler/recorder/blocked_signals.h"
#include "store/contained.h"
#include "wrap/add_to_lake.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLookPeriod(5000);
// The thread's processor time is at most 1 / kMaxOften of the run's time.
constexpr int kMaxOften = 50;
// Adding a piece starts a Python, and writes all steps of the node anew. It takes at most this part
// of the run's time.
constexpr int kMaxOftenPieces = 10;
// Some 8,000 steps of all ranks of the node: more between two looks are not in the pieces.
constexpr std::size_t kPhases = 4 * kLivePhases;
// A piece is added early when it has this many steps: each takes about 1 KB of memory.
constexpr std::size_t kMostSteps = 20'000;

milliseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return milliseconds(time.tv_sec * 1000 + time.tv_nsec / 1'000'000);
}

// A folder of its own for the pieces, removed at the end.
class PieceFolder {
 public:
  PieceFolder() {
    std::error_code error;
    std::string name = std::filesystem::temp_directory_path(error) / "stepscope-lake-XXXXXX";
    if (!error && mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~PieceFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  PieceFolder(const PieceFolder&) = delete;
  PieceFolder& operator=(const PieceFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

LakeFollower::~LakeFollower() { stop(); }

Status LakeFollower::start() {
  const BlockedSignals blocked;
  try {
    thread_ = std::thread([this] {
      keep_problem(contained([this] {
        run();
        return Status();
      }));
    });
  } catch (const std::system_error&) {
    return Status::error(ErrorKind::kIo, "cannot start a thread; raise ulimit -u");
  }
  return {};
}

void LakeFollower::follow(const std::filesystem::path& store) {
  const MutexLock lock(mutex_);
  if (!followed_.empty()) return;
  followed_ = store;
  changed_.notify_all();
}

std::vector<std::int64_t> LakeFollower::take_slow_ranks() {
  const MutexLock lock(mutex_);
  return std::exchange(slow_ranks_, {});
}

std::string LakeFollower::take_problem() {
  const MutexLock lock(mutex_);
  if (problem_.empty() || problem_was_taken_) return {};
  problem_was_taken_ = true;
  return problem_;
}

void LakeFollower::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  run_.reset();
}

void LakeFollower::run() {
  constexpr int kNice = 10;  // of this thread alone, and of the Pythons that it starts
  ::setpriority(PRIO_PROCESS, 0, kNice);
  if (!wait_for_store()) return;
  const PieceFolder folder;
  milliseconds pause = std::min(kLookPeriod, plan_.period);
  auto next = Clock::now() + plan_.period;
  while (wait(pause)) {
    const milliseconds before = processor_time();
    Status status = contained([this] { return look(); });
    const auto began = Clock::now();
    if (status.ok() && pieces_->size() > 0 && (began >= next || pieces_->size() > kMostSteps)) {
      status = contained([&] { return add_piece(folder.path()); });
      const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
      next = began + std::max(plan_.period, took * kMaxOftenPieces);
    }
    keep_problem(status);
    pause = std::max(std::min(kLookPeriod, plan_.period), (processor_time() - before) * kMaxOften);
  }
}

// If the store cannot be read now, the next call may succeed.
Status LakeFollower::look() {
  if (pieces_ == nullptr) pieces_ = std::make_unique<StepPieces>(store_);
  if (run_ == nullptr) {
    auto opened = LiveRun::open(store_, kPhases);
    if (!opened.ok()) return opened.status();
    run_ = *std::move(opened);
  }
  const auto frame = run_->refresh();
  if (!frame.ok()) {
    run_.reset();
    return frame.status();
  }
  pieces_->add(**frame);
  return {};
}

// A piece that could not be added goes with the next one.
Status LakeFollower::add_piece(const std::filesystem::path& folder) {
  if (folder.empty()) return Status::error(ErrorKind::kIo, "no temporary folder could be created");
  const std::filesystem::path piece = folder / "piece.db";
  Status status = pieces_->write(piece, run_->recording());
  if (status.ok()) {
    const auto added = add_piece_to_lake(piece.string(), plan_.lake, plan_.watch_s);
    status = added.status();
    if (added.ok()) {
      const MutexLock lock(mutex_);
      slow_ranks_.insert(slow_ranks_.end(), added->begin(), added->end());
    }
  }
  std::error_code ignored;
  std::filesystem::remove(piece, ignored);
  if (status.ok() || pieces_->size() > 10 * kMostSteps) pieces_->clear();
  return status;
}

void LakeFollower::keep_problem(const Status& status) {
  const MutexLock lock(mutex_);
  if (!status.ok() && problem_.empty()) problem_ = status.message();
}

bool LakeFollower::wait_for_store() {
  const MutexLock lock(mutex_);
  while (!stopping_ && followed_.empty()) changed_.wait(mutex_);
  store_ = followed_;
  return !stopping_;
}

bool LakeFollower::wait(milliseconds duration) {
  const auto until = Clock::now() + duration;
  const MutexLock lock(mutex_);
  while (!stopping_ && changed_.wait_until(mutex_, until)) {
  }
  return !stopping_;
}

}  // namespace stepscope
