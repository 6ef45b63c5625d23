#include "analyzer/compare/match_loops.h"

#include <algorithm>
#include <optional>

namespace stepscope {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

}  // namespace

LoopMatch match_loops(const std::vector<LoopReport>& a, const std::vector<LoopReport>& b) {
  std::vector<std::size_t> partner(a.size(), kNobody);
  std::vector<bool> taken(b.size(), false);
  const auto match = [&](bool by_rank) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size() && partner[i] == kNobody; ++j) {
        if (taken[j] || (by_rank && a[i].rank != b[j].rank)) continue;
        partner[i] = j;
        taken[j] = true;
      }
    }
  };
  match(true);
  match(false);

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
