// What bounds a loop: shares of its time, and the one that decides.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "store/analysis.h"

namespace stepscope {

// Fraction of step time by category; they sum to 1.
using Shares = std::array<double, kCategoryCount>;

inline double share_of(const Shares& shares, Category category) {
  return shares[static_cast<std::size_t>(category)];
}

// The shares that decide a verdict. Input is checked first, with the thresholds of TensorFlow
// Profiler. Every other stall counts from a fifth of the step on, since every healthy step has some
// launch and host time; from a tenth on it is listed with the verdict (TraceML's thresholds).
inline constexpr double kModeratelyInputBound = 0.05;
inline constexpr double kHighlyInputBound = 0.20;
inline constexpr double kStallListed = 0.10;
inline constexpr double kStallNamed = 0.20;

struct Bottleneck {
  // The deciding category. kHost stands for host and other together: both are code of the loop
  // outside any op. With memory_pressure or starved: the category that would decide without it.
  Category category = Category::kCompute;
  bool memory_pressure = false;
  bool starved = false;  // of cores
  std::string kind;      // "input-bound"
  std::string degree;    // "highly", "moderately" or empty
  double share = 0;
  bool straggler = false;  // for kCommunication: most of it is waiting for other ranks

  // Whether its share overlaps with those of the categories.
  [[nodiscard]] bool overlaps() const { return memory_pressure || starved; }
  [[nodiscard]] bool is_stall() const { return overlaps() || category != Category::kCompute; }
};

// What takes a share of the time: a category, or what overlaps with the categories.
enum class StallKind : std::uint8_t { kCategory, kMemoryPressure, kStarved };

struct Stall {
  StallKind kind = StallKind::kCategory;
  Category category = Category::kCompute;  // for kCategory
  double share = 0;
};

}  // namespace stepscope
