#include "analyzer/verdict/classify.h"

#include <cstddef>

namespace stepscope {
namespace {

constexpr Thresholds kMemoryPressure{0.10, 0.20};

constexpr std::array kStalls = {Category::kInput, Category::kCopy,   Category::kCommunication,
                                Category::kSync,  Category::kLaunch, Category::kAllocation,
                                Category::kHost};

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

const char* degree_of(double share, Thresholds thresholds) {
  if (share >= thresholds.highly) return "highly";
  return share >= thresholds.moderately ? "moderately" : "";
}

}  // namespace

Thresholds thresholds_of(Category category) {
  return category == Category::kInput ? Thresholds{0.05, 0.20} : Thresholds{0.10, 0.20};
}

Thresholds thresholds_of(const Bottleneck& bottleneck) {
  return bottleneck.memory_pressure ? kMemoryPressure : thresholds_of(bottleneck.category);
}

double deciding_share(const Shares& shares, Category category) {
  const double share = share_of(shares, category);
  return category == Category::kHost ? share + share_of(shares, Category::kOther) : share;
}

Bottleneck classify(const Shares& shares, double memory_pressure) {
  Category largest = kStalls.front();
  Category named = Category::kCompute;
  double named_share = 0;
  for (const Category stall : kStalls) {
    const double share = deciding_share(shares, stall);
    if (share > deciding_share(shares, largest)) largest = stall;
    if (share >= thresholds_of(stall).moderately && share > named_share) {
      named = stall;
      named_share = share;
    }
  }
  if (memory_pressure >= kMemoryPressure.moderately && memory_pressure >= named_share) {
    return {named, true, "memory-pressure-bound", degree_of(memory_pressure, kMemoryPressure),
            memory_pressure};
  }
  if (named == Category::kCompute && share_of(shares, Category::kCompute) < 0.5) named = largest;
  const double share = deciding_share(shares, named);
  const char* degree = named == Category::kCompute ? "" : degree_of(share, thresholds_of(named));
  return {named, false, bound_kind(named), degree, share};
}

}  // namespace stepscope
