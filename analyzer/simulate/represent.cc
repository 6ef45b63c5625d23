#include "analyzer/simulate/represent.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyzer/median.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

constexpr double kUsual = 1.2;  // × the median, or its inverse: within this, a step is usual
constexpr double kStall = 4;    // × the median: beyond this, a step is a stall
constexpr int kMaxStratum = 40;
constexpr std::size_t kMaxStandIns = 8;  // for one stratum

struct Parts {
  double input = 0;
  double rest = 0;
};

// The stratum of a step that takes `ratio` × the median: 0 is usual, and each further stratum
// covers twice the time of the last.
int stratum_of(double ratio) {
  if (ratio >= 1 / kUsual && ratio <= kUsual) return 0;
  const bool slow = ratio > 1;
  const double away = (slow ? ratio : 1 / ratio) / kUsual;
  const int stratum = 1 + static_cast<int>(std::min<double>(std::log2(away), kMaxStratum));
  return slow ? stratum : -stratum;
}

// A step to replay: the tasks of a sampled step, with the times of its own.
struct Member {
  std::size_t index = 0;  // of the loop
  std::size_t donor = 0;  // position in the sample
  bool stands_in = false;
};

struct Stratum {
  std::vector<std::size_t> analysed;  // indexes of the loop
  std::vector<Member> members;
};

bool is_input(const Task& task) {
  return task.lane == kLoopLane && task.category == Category::kInput;
}

void add_task(SampledStep& step, double ns, Category category, PhaseKind phase) {
  Task task;
  task.start_ns = step.tasks.empty() ? 0 : step.tasks.front().start_ns;
  task.dur_ns = std::llround(ns);
  task.category = category;
  task.phase = phase;
  step.tasks.insert(step.tasks.begin(), task);
}

double factor(double wanted, double present) { return present > 0 ? wanted / present : 1; }

class Representation {
 public:
  Representation(std::vector<SampledStep> sampled, const StepTimes& times,
                 const std::vector<std::size_t>& analysed)
      : sampled_(std::move(sampled)), times_(times), steps_(analysed.size()) {
    std::vector<double> all;
    for (const std::size_t i : analysed) all.push_back(times.step_ns[i]);
    median_ = upper_median(std::move(all));
    for (const std::size_t i : analysed) strata_[stratum(i)].analysed.push_back(i);
    for (std::size_t i = 0; i < sampled_.size(); ++i)
      strata_[stratum(sampled_[i].index)].members.push_back({sampled_[i].index, i, false});
  }

  RepresentativeSample build() {
    for (auto& [number, stratum] : strata_) {
      if (stratum.members.empty()) add_stand_ins(stratum);
      if (!stratum.analysed.empty()) add(stratum);
    }
    sort_by_index();
    const double mean = total_ns_ / static_cast<double>(steps_);
    result_.input_gap = factor(result_.input_gap, mean);
    result_.rest_gap = factor(result_.rest_gap, mean);
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool separates_input() const { return !times_.input_ns.empty(); }
  [[nodiscard]] int stratum(std::size_t index) const {
    return stratum_of(median_ > 0 ? times_.step_ns[index] / median_ : 1);
  }
  [[nodiscard]] Parts parts_of(std::size_t index) const {
    const double step = times_.step_ns[index];
    const double input =
        separates_input() ? std::clamp(times_.input_ns[index], 0.0, std::max(step, 0.0)) : 0;
    return {input, step - input};
  }
  template <typename Items, typename IndexOf>
  [[nodiscard]] Parts mean_of(const Items& items, IndexOf index_of) const {
    Parts sum;
    for (const auto& item : items) {
      const Parts parts = parts_of(index_of(item));
      sum.input += parts.input;
      sum.rest += parts.rest;
    }
    const auto count = static_cast<double>(items.size());
    return {sum.input / count, sum.rest / count};
  }

  // As many as the sample would have had on average, spread over the stratum.
  void add_stand_ins(Stratum& stratum) const {
    const std::size_t all = stratum.analysed.size();
    const std::size_t fair = (all * sampled_.size() + steps_ / 2) / steps_;
    const std::size_t count = std::min(all, std::clamp<std::size_t>(fair, 1, kMaxStandIns));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = stratum.analysed[(2 * i + 1) * all / (2 * count)];
      stratum.members.push_back({index, nearest(times_.step_ns[index]), true});
    }
  }

  [[nodiscard]] std::size_t nearest(double step_ns) const {
    const auto distance = [&](const SampledStep& step) {
      return std::abs(times_.step_ns[step.index] - step_ns);
    };
    const auto found = std::min_element(
        sampled_.begin(), sampled_.end(),
        [&](const SampledStep& a, const SampledStep& b) { return distance(a) < distance(b); });
    return static_cast<std::size_t>(found - sampled_.begin());
  }

  void add(const Stratum& stratum) {
    const Parts wanted = mean_of(stratum.analysed, [](std::size_t index) { return index; });
    const Parts present = mean_of(stratum.members, [](const Member& m) { return m.index; });
    const auto analysed = static_cast<double>(stratum.analysed.size());
    const double share = analysed / static_cast<double>(steps_);
    total_ns_ += (wanted.input + wanted.rest) * analysed;
    add_gaps(stratum, wanted, share);
    for (const Member& member : stratum.members) {
      const Parts own = parts_of(member.index);
      const Parts target{
          present.input > 0 ? own.input * wanted.input / present.input : wanted.input,
          own.rest * factor(wanted.rest, present.rest)};
      add_step(member, target, share / static_cast<double>(stratum.members.size()));
    }
  }

  void add_gaps(const Stratum& stratum, const Parts& wanted, double share) {
    const bool stands_in = stratum.members.front().stands_in;
    const bool stall = wanted.input + wanted.rest > kStall * median_;
    const Parts sampled = mean_of(
        stratum.members, [this](const Member& member) { return sampled_[member.donor].index; });
    // The input of stand-ins is what was measured.
    if (!stands_in) result_.input_gap += share * std::abs(sampled.input - wanted.input);
    if (!stands_in || !stall) result_.rest_gap += share * std::abs(sampled.rest - wanted.rest);
  }

  void add_step(const Member& member, const Parts& target, double weight) {
    SampledStep step = sampled_[member.donor];
    const Parts recorded = parts_of(step.index);
    step.index = member.index;
    double scale = factor(target.rest, recorded.rest);
    if (!separates_input()) {
      // All tasks would have the same factor, so it can be part of the weight.
      result_.measured_ns.push_back(recorded.rest);
      result_.weights.push_back(weight * scale);
    } else {
      // Nobody knows what a stand-in did in the time that its donor does not explain.
      const double unknown = member.stands_in ? std::max(target.rest - recorded.rest, 0.0) : 0;
      if (unknown > 0) scale = 1;
      scale_step(step, recorded.input > 0 ? target.input / recorded.input : 1, scale);
      if (unknown > 0) add_task(step, unknown, Category::kOther, PhaseKind::kNone);
      if (recorded.input <= 0 && target.input > 0)
        add_task(step, target.input, Category::kInput, PhaseKind::kInput);
      result_.measured_ns.push_back(target.input + target.rest);
      result_.weights.push_back(weight);
    }
    result_.steps.push_back(std::move(step));
    result_.stand_ins += member.stands_in ? 1 : 0;
  }

  static void scale_step(SampledStep& step, double of_input, double of_rest) {
    for (Task& task : step.tasks) {
      const double by = is_input(task) ? of_input : of_rest;
      if (by == 1) continue;
      task.dur_ns = scaled(task.dur_ns, by);
      task.lag_ns = scaled(task.lag_ns, by);
    }
  }

  void sort_by_index() {
    std::vector<std::size_t> order(result_.steps.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [this](std::size_t i) { return result_.steps[i].index; });
    RepresentativeSample sorted;
    for (const std::size_t i : order) {
      sorted.steps.push_back(std::move(result_.steps[i]));
      sorted.measured_ns.push_back(result_.measured_ns[i]);
      sorted.weights.push_back(result_.weights[i]);
    }
    result_.steps = std::move(sorted.steps);
    result_.measured_ns = std::move(sorted.measured_ns);
    result_.weights = std::move(sorted.weights);
  }

  std::vector<SampledStep> sampled_;
  const StepTimes& times_;
  std::size_t steps_;
  double median_ = 0;
  double total_ns_ = 0;
  std::map<int, Stratum> strata_;
  RepresentativeSample result_;
};

}  // namespace

RepresentativeSample represent(std::vector<SampledStep> sampled, const StepTimes& times,
                               const std::vector<std::size_t>& analysed) {
  return Representation(std::move(sampled), times, analysed).build();
}

}  // namespace stepscope
