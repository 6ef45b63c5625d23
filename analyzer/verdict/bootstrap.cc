#include "analyzer/verdict/bootstrap.h"

#include <algorithm>
#include <vector>

namespace stepscope {
namespace {

struct Pair {
  double part = 0;
  double whole = 0;
};

// SplitMix64 (Steele, Lea and Flood 2014): the same numbers with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // 0 … bound - 1; the bias of the remainder is below bound / 2^64.
  std::size_t below(std::size_t bound) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<std::size_t>((z ^ (z >> 31)) % bound);
  }

 private:
  std::uint64_t state_;
};

std::vector<Pair> make_blocks(std::span<const double> parts, std::span<const double> wholes) {
  const std::size_t count = std::min(parts.size(), wholes.size());
  const std::size_t blocks = std::min(count, kMaxBlocks);
  std::vector<Pair> result(blocks);
  for (std::size_t i = 0; i < count; ++i) {
    Pair& block = result[i * blocks / count];
    block.part += parts[i];
    block.whole += wholes[i];
  }
  return result;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

Interval bootstrap_ratio(std::span<const double> parts, std::span<const double> wholes,
                         std::uint64_t seed) {
  const std::vector<Pair> blocks = make_blocks(parts, wholes);
  if (blocks.empty()) return {};
  Random random(seed);
  std::vector<double> ratios;
  for (int i = 0; i < kResamples; ++i) {
    Pair sum;
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      const Pair& block = blocks[random.below(blocks.size())];
      sum.part += block.part;
      sum.whole += block.whole;
    }
    ratios.push_back(ratio(sum.part, sum.whole));
  }
  std::sort(ratios.begin(), ratios.end());
  constexpr std::size_t kTail = kResamples / 40;  // 2.5 %
  return {ratios[kTail], ratios[ratios.size() - 1 - kTail]};
}

}  // namespace stepscope
