// From shares of step time to the name of the bottleneck.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "store/analysis.h"

namespace stepscope {

// Fraction of step time by category; they sum to 1.
using Shares = std::array<double, kCategoryCount>;

inline double share_of(const Shares& shares, Category category) {
  return shares[static_cast<std::size_t>(category)];
}

// The shares that decide a verdict. Input is asked first, with the thresholds of TensorFlow
// Profiler. Every other stall counts from a fifth of the step on, since every healthy step has some
// launch and host time; from a tenth on it is listed beside the verdict (TraceML's thresholds).
inline constexpr double kModeratelyInputBound = 0.05;
inline constexpr double kHighlyInputBound = 0.20;
inline constexpr double kStallListed = 0.10;
inline constexpr double kStallNamed = 0.20;

struct Bottleneck {
  // The deciding category. kHost stands for host and other together: both are code of the loop
  // outside any op. With memory_pressure or starved: the category that would have decided
  // otherwise.
  Category category = Category::kCompute;
  bool memory_pressure = false;
  bool starved = false;  // of cores
  std::string kind;      // "input-bound"
  std::string degree;    // "highly", "moderately" or empty
  double share = 0;

  // Its share is not that of a category.
  [[nodiscard]] bool overlaps() const { return memory_pressure || starved; }
  [[nodiscard]] bool is_stall() const { return overlaps() || category != Category::kCompute; }
};

// In this order: input from kHighlyInputBound on; the largest other stall from kStallNamed on;
// input from kModeratelyInputBound on; else compute-bound. `memory_pressure`: the share of time
// spent waiting for memory. It overlaps with the categories, because it slows them down, so from
// kStallNamed on it precedes any stall that is not larger. `starved`: the same of the time in which
// threads were ready and had no core; `shares` are then those without that time.
Bottleneck classify(const Shares& shares, double memory_pressure = 0, double starved = 0);

// A share so close to a threshold that another recording of the same program may get another
// verdict.
struct NearThreshold {
  std::string name;  // "input", "memory pressure"
  double share = 0;
};
inline constexpr double kNear = 0.01;  // one point of the step
// The share that changes the verdict when it is kNear larger or smaller; nothing: none does.
std::optional<NearThreshold> near_threshold(const Shares& shares, double memory_pressure = 0,
                                            double starved = 0);

// Whether `share` of a category is worth a mention beside a verdict that it does not name.
bool is_listed(Category category, double share);

// The share that decides a verdict of this category.
double deciding_share(const Shares& shares, Category category);

}  // namespace stepscope
