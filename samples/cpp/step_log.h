// The program's own stopwatch: the time of each step and of its wait for its batch. To check
// Stepscope's figures for the same steps.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

namespace samples {

class StepLog {
 public:
  using Clock = std::chrono::steady_clock;

  // The awaited batch has arrived. The wait began where the last step ended.
  void batch_arrived(Clock::time_point now = Clock::now()) { input_ = now - last_; }
  // The step ends here; it began where the last one ended.
  void step_ended(Clock::time_point now = Clock::now()) {
    steps_.push_back({now - last_, input_});
    last_ = now;
  }
  // The time since the last step belongs to no step.
  void restart(Clock::time_point now = Clock::now()) { last_ = now; }

  struct Mean {
    std::size_t steps = 0;
    double step_ms = 0;
    double input_ms = 0;
    [[nodiscard]] double input_share() const { return step_ms == 0 ? 0 : input_ms / step_ms; }
  };
  // The mean over the existing steps from `first` to `last`, counted from 1, both included.
  [[nodiscard]] Mean mean(std::size_t first, std::size_t last) const {
    Mean mean;
    for (std::size_t number = first; number <= last && number <= steps_.size(); ++number) {
      ++mean.steps;
      mean.step_ms += milliseconds(steps_[number - 1].total);
      mean.input_ms += milliseconds(steps_[number - 1].input);
    }
    if (mean.steps == 0) return mean;
    mean.step_ms /= static_cast<double>(mean.steps);
    mean.input_ms /= static_cast<double>(mean.steps);
    return mean;
  }
  [[nodiscard]] std::size_t size() const { return steps_.size(); }

  // The time in milliseconds that a `share` of all steps, from 0 to 1, does not exceed (nearest
  // rank); 0 without steps.
  [[nodiscard]] double percentile_ms(double share) const {
    if (steps_.empty()) return 0;
    std::vector<std::chrono::nanoseconds> times;
    for (const Step& step : steps_) times.push_back(step.total);
    const double rank = std::ceil(share * static_cast<double>(times.size()));
    const auto nth = times.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
    std::nth_element(times.begin(), nth, times.end());
    return milliseconds(*nth);
  }

 private:
  struct Step {
    std::chrono::nanoseconds total;
    std::chrono::nanoseconds input;
  };
  static double milliseconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
  }

  std::vector<Step> steps_;
  std::chrono::nanoseconds input_{0};  // of the current step
  Clock::time_point last_ = Clock::now();
};

}  // namespace samples
