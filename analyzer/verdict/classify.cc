#include "analyzer/verdict/classify.h"

#include <algorithm>
#include <cstddef>

namespace stepscope {
namespace {

// All except input, which has its own rules.
constexpr std::array kStalls = {Category::kCopy,   Category::kCommunication, Category::kSync,
                                Category::kLaunch, Category::kAllocation,    Category::kHost};

const char* bound_kind(Category category) {
  switch (category) {
    case Category::kCompute:
      return "compute-bound";
    case Category::kInput:
      return "input-bound";
    case Category::kCopy:
      return "transfer-bound";
    case Category::kCommunication:
      return "communication-bound";
    case Category::kSync:
      return "sync-bound";
    case Category::kLaunch:
      return "launch-bound";
    case Category::kAllocation:
      return "allocation-bound";
    case Category::kHost:
    case Category::kOther:
      return "host-bound";
  }
  return "host-bound";
}

Bottleneck bottleneck_of(Category category, const char* degree, double share) {
  return {category, false, false, bound_kind(category), degree, share};
}

// The verdict without regard to memory pressure.
Bottleneck classify_categories(const Shares& shares) {
  const double input = share_of(shares, Category::kInput);
  if (input >= kHighlyInputBound) return bottleneck_of(Category::kInput, "highly", input);
  const Category largest =
      *std::max_element(kStalls.begin(), kStalls.end(), [&](Category a, Category b) {
        return deciding_share(shares, a) < deciding_share(shares, b);
      });
  const double share = deciding_share(shares, largest);
  if (share >= kStallNamed) return bottleneck_of(largest, "highly", share);
  if (input >= kModeratelyInputBound) return bottleneck_of(Category::kInput, "moderately", input);
  return bottleneck_of(Category::kCompute, "", share_of(shares, Category::kCompute));
}

bool differ(const Bottleneck& a, const Bottleneck& b) {
  return a.kind != b.kind || a.degree != b.degree;
}

}  // namespace

double deciding_share(const Shares& shares, Category category) {
  const double share = share_of(shares, category);
  return category == Category::kHost ? share + share_of(shares, Category::kOther) : share;
}

Bottleneck classify(const Shares& shares, double memory_pressure, double starved) {
  Bottleneck result = classify_categories(shares);
  const auto precedes = [&result](double share) {
    return share >= kStallNamed && share >= (result.is_stall() ? result.share : 0);
  };
  if (precedes(memory_pressure)) {
    result.memory_pressure = true;
    result.kind = "memory-pressure-bound";
    result.degree = "highly";
    result.share = memory_pressure;
  }
  if (precedes(starved)) {
    result.memory_pressure = false;
    result.starved = true;
    result.kind = "cpu-starved";
    result.degree = "highly";
    result.share = starved;
  }
  return result;
}

std::optional<Stall> near_threshold(const Shares& shares, double memory_pressure, double starved) {
  const Bottleneck now = classify(shares, memory_pressure, starved);
  for (const double change : {-kNear, kNear}) {
    const auto changes_with = [&](Category category) {
      Shares other = shares;
      other[static_cast<std::size_t>(category)] += change;
      return differ(now, classify(other, memory_pressure, starved));
    };
    if (changes_with(Category::kInput))
      return Stall{StallKind::kCategory, Category::kInput, share_of(shares, Category::kInput)};
    for (const Category stall : kStalls) {
      if (changes_with(stall))
        return Stall{StallKind::kCategory, stall, deciding_share(shares, stall)};
    }
    if (differ(now, classify(shares, memory_pressure + change, starved)))
      return Stall{StallKind::kMemoryPressure, {}, memory_pressure};
    if (differ(now, classify(shares, memory_pressure, starved + change)))
      return Stall{StallKind::kStarved, {}, starved};
  }
  return std::nullopt;
}

bool is_listed(Category category, double share) {
  return share >= (category == Category::kInput ? kModeratelyInputBound : kStallListed);
}

}  // namespace stepscope
