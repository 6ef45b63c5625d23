// From shares of step time to the name of the bottleneck.
#pragma once

#include <array>
#include <string>

#include "store/analysis.h"

namespace stepscope {

// Fraction of step time by category; they sum to 1.
using Shares = std::array<double, kCategoryCount>;

inline double share_of(const Shares& shares, Category category) {
  return shares[static_cast<std::size_t>(category)];
}

// The shares from which a stall is reported. Input: the thresholds of TensorFlow Profiler (5 % and
// 20 %). Every other stall: those of TraceML (10 % warns, 20 % is critical), since every healthy
// step has small shares of launch and host time.
struct Thresholds {
  double moderately = 0;
  double highly = 0;
};
Thresholds thresholds_of(Category category);

struct Bottleneck {
  // The deciding category. kHost stands for host and other together: both are code of the loop
  // outside any op. With memory_pressure: the category that would have decided otherwise.
  Category category = Category::kCompute;
  bool memory_pressure = false;
  std::string kind;    // "input-bound"
  std::string degree;  // "highly", "moderately" or empty
  double share = 0;

  [[nodiscard]] bool is_stall() const { return memory_pressure || category != Category::kCompute; }
};

Thresholds thresholds_of(const Bottleneck& bottleneck);

// The largest stall that reaches its threshold names the verdict. When none does: compute-bound if
// compute is at least half of the step, else the largest stall, without a degree.
// `memory_pressure`: the share of time spent waiting for memory. It overlaps with the categories,
// because it slows them down: it names the verdict when it reaches the thresholds of a stall and no
// stall is larger.
Bottleneck classify(const Shares& shares, double memory_pressure = 0);

// The share that decides a verdict of this category.
double deciding_share(const Shares& shares, Category category);

}  // namespace stepscope
