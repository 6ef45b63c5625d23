#include "profiler/session/op_budget.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

// The measured cost of an op may differ from kCostPerOpNs by these factors.
constexpr double kMinFactor = 0.4;
constexpr double kMaxFactor = 8;
// A step stands out if it takes this many times the median, once kKnown steps are known.
constexpr double kStandsOut = 2;
constexpr std::size_t kKnown = 20;
// Even if ops cost nothing, a fifth of the blocks have none, so that the cost can be measured.
constexpr double kMaxShare = 0.8;

void add_to_mean(double& mean, double value) {
  mean = mean == 0 ? value : mean + (value - mean) / 8;
}

}  // namespace

void OpBudget::Times::add(std::int64_t ns) {
  ns_[next_] = ns;
  next_ = (next_ + 1) % ns_.size();
  count_ = std::min(count_ + 1, ns_.size());
}

double OpBudget::Times::median() const {
  std::array<std::int64_t, kRemembered> sorted = ns_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count_ / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count_));
  return static_cast<double>(*middle);
}

OpBudget::OpBudget(double budget, std::uint64_t seed, double cost_per_mark_ns)
    : budget_(budget),
      cost_per_mark_ns_(cost_per_mark_ns),
      random_(static_cast<std::minstd_rand::result_type>(seed % 2147483646 + 1)),
      left_in_block_(kFirstOpSteps) {}

double OpBudget::spent() const {
  if (total_ns_ <= 0) return 0;
  return (op_steps_ns_ * cost_ / (1 + cost_) + always_ns_) / total_ns_;
}

bool OpBudget::step_ended(std::int64_t ns, Recorded recorded) {
  if (!ops_ && stands_out(ns)) wants_detail_ = true;
  note(ns, recorded);
  if (--left_in_block_ <= 0) {
    estimate_cost();
    begin_block();
  }
  return ops_;
}

void OpBudget::note(std::int64_t ns, Recorded recorded) {
  ++steps_;
  total_ns_ += static_cast<double>(ns);
  const auto events = static_cast<double>(recorded.events);
  if (ops_) {
    ++op_steps_;
    op_steps_ns_ += static_cast<double>(ns);
    add_to_mean(ops_a_step_, std::max(events - marks_a_step_, 0.0));
    // The first steps are warm-up, much slower than all others.
    if (steps_ > kFirstOpSteps) with_ops_.add(ns);
  } else {
    add_to_mean(marks_a_step_, events);
    without_.add(ns);
  }
  always_ns_ += marks_a_step_ * cost_per_mark_ns_ +
                static_cast<double>(recorded.allocations) * kCostPerAllocationNs +
                static_cast<double>(recorded.launches) * kCostPerLaunchNs;
}

void OpBudget::estimate_cost() {
  if (without_.count() == 0) return;
  usual_ns_ = std::max(without_.median(), 1.0);
  const double expected = ops_a_step_ * kCostPerOpNs / usual_ns_;
  cost_ = expected;
  if (with_ops_.count() == 0) return;
  cost_ =
      std::clamp(with_ops_.median() / usual_ns_ - 1, expected * kMinFactor, expected * kMaxFactor);
}

bool OpBudget::stands_out(std::int64_t ns) const {
  return without_.count() >= kKnown && spent() <= budget_ &&
         static_cast<double>(ns) > kStandsOut * usual_ns_;
}

double OpBudget::budget_of_ops() const {
  const double always = total_ns_ > 0 ? always_ns_ / total_ns_ : 0;
  return std::max(budget_ - always, budget_ * kMinForOps);
}

// The share of the coming steps that should have ops.
double OpBudget::wanted_share() const {
  double share = cost_ > 0 ? std::min(budget_of_ops() / cost_, kMaxShare) : kMaxShare;
  if (spent() > budget_) share /= 2;  // until the cost of the first steps is made up for
  if (steps_ < 2 * kLongestBlock) return std::max(share, 0.5);
  if (op_steps_ < kEnoughOpSteps) return std::max(share, 0.1);
  return share;
}

void OpBudget::begin_round() {
  const double share = wanted_share();
  differs_by_ops_ = share <= 0.5;
  const double rare = differs_by_ops_ ? share : 1 - share;
  blocks_ = std::clamp<std::int64_t>(std::llround(1 / rare), 2, kMaxBlocks);
  block_ = 0;
  different_ = std::uniform_int_distribution<std::int64_t>(0, blocks_ - 1)(random_);
}

void OpBudget::begin_block() {
  if (++block_ >= blocks_) begin_round();
  ops_ = (block_ == different_) == differs_by_ops_ || wants_detail_;
  wants_detail_ = false;
  const double step_ns = usual_ns_ > 0 ? usual_ns_ : total_ns_ / static_cast<double>(steps_);
  const double steps = static_cast<double>(kBlockNs) / std::max(step_ns, 1.0);
  const std::int64_t most = steps_ < 4 * kLongestBlock ? kLongestBlock / 2 : kLongestBlock;
  left_in_block_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(steps), 1, most);
}

}  // namespace stepscope
