#include "wrap/lake_follower.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "profiler/recorder/blocked_signals.h"
#include "wrap/add_to_lake.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLookPeriod(5000);
// Adding a piece starts a Python, and writes all steps of the node anew. The next piece comes after
// this many times as long.
constexpr int kRestOfPieces = 10;
// Some 8,000 steps of all ranks of the node: more between two looks are not in the pieces.
constexpr std::size_t kPhases = 4 * kLivePhases;
// A piece is added early when it has this many steps: each takes about 1 KB of memory.
constexpr std::size_t kMaxSteps = 20'000;

}  // namespace

LakeFollower::LakeFollower(LakePlan plan)
    : plan_(std::move(plan)),
      follower_({.take = [this](const LiveFrame& frame) { return take(frame); },
                 .done = [this](const Status& status) { keep_problem(status); }},
                kPhases) {}

Status LakeFollower::start() {
  const BlockedSignals blocked;
  next_ = Clock::now() + plan_.period;
  const milliseconds look_period = std::min(kLookPeriod, plan_.period);
  return follower_.start(look_period, look_period);
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
  follower_.stop();
  follower_.close();
}

Status LakeFollower::take(const LiveFrame& frame) {
  if (!pieces_) pieces_.emplace(follower_.store());
  pieces_->add(frame);
  const auto began = Clock::now();
  const bool is_due = began >= next_ || pieces_->size() > kMaxSteps;
  if (pieces_->empty() || !is_due) return {};
  Status status = add_piece();
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
  next_ = began + std::max(plan_.period, took * kRestOfPieces);
  return status;
}

// A piece that could not be added goes with the next one.
Status LakeFollower::add_piece() {
  if (!folder_) {
    auto made = TemporaryFolder::make();
    if (!made.ok()) return made.status();
    folder_ = *std::move(made);
  }
  const std::filesystem::path piece = folder_->path() / "piece.db";
  Status status = pieces_->write(piece, follower_.recording());
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
  if (status.ok() || pieces_->size() > 10 * kMaxSteps) pieces_->clear();
  return status;
}

void LakeFollower::keep_problem(const Status& status) {
  const MutexLock lock(mutex_);
  if (!status.ok() && problem_.empty()) problem_ = status.message();
}

}  // namespace stepscope
