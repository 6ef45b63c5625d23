#include "analyzer/compare/match_loops.h"

#include <algorithm>
#include <optional>

namespace stepscope {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

std::optional<std::int64_t> device_of(const LoopReport& loop) {
  if (loop.device == DeviceId::kNone) return std::nullopt;
  return loop.device_number;
}

}  // namespace

LoopMatch match_loops(const std::vector<LoopReport>& a, const std::vector<LoopReport>& b) {
  std::vector<std::size_t> partner(a.size(), kNobody);
  std::vector<bool> taken(b.size(), false);
  using Alike = bool (*)(const LoopReport&, const LoopReport&);
  const auto match = [&](Alike alike) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size() && partner[i] == kNobody; ++j) {
        if (taken[j] || !alike(a[i], b[j])) continue;
        partner[i] = j;
        taken[j] = true;
      }
    }
  };
  match([](const LoopReport& x, const LoopReport& y) {
    return x.rank == y.rank && device_of(x) == device_of(y);
  });
  match([](const LoopReport& x, const LoopReport& y) { return x.rank == y.rank; });
  match([](const LoopReport&, const LoopReport&) { return true; });

  LoopMatch result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (partner[i] == kNobody) {
      result.only_in_a.push_back(i);
    } else {
      result.pairs.emplace_back(i, partner[i]);
    }
  }
  for (std::size_t j = 0; j < b.size(); ++j) {
    if (!taken[j]) result.only_in_b.push_back(j);
  }
  return result;
}

}  // namespace stepscope
