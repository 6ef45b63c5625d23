#include "analyzer/balance_steps.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

namespace stepscope {
namespace {

struct Part {
  std::vector<std::size_t> plain, with_ops;

  [[nodiscard]] double size() const { return static_cast<double>(plain.size() + with_ops.size()); }
  [[nodiscard]] double plain_share() const { return static_cast<double>(plain.size()) / size(); }
};

std::vector<Part> parts_of(const std::vector<std::size_t>& plain,
                           const std::vector<std::size_t>& all) {
  const std::size_t length = std::max(kShortestPart, (all.size() + kMostParts - 1) / kMostParts);
  std::vector<Part> parts(std::max<std::size_t>(all.size() / length, 1));
  auto next = plain.begin();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Part& part = parts[std::min(i / length, parts.size() - 1)];
    const bool is_plain = next != plain.end() && *next == all[i];
    (is_plain ? part.plain : part.with_ops).push_back(all[i]);
    if (is_plain) ++next;
  }
  return parts;
}

double mean_of(std::span<const double> times, const std::vector<std::size_t>& chosen) {
  double sum = 0;
  for (const std::size_t i : chosen) sum += times[i];
  return sum / static_cast<double>(chosen.size());
}

double standard_error(std::span<const double> times, const std::vector<std::size_t>& chosen,
                      double mean) {
  double squares = 0;
  for (const std::size_t i : chosen) squares += (times[i] - mean) * (times[i] - mean);
  return std::sqrt(squares) / static_cast<double>(chosen.size());
}

// The mean of all parts, each of which is like its steps without ops, if it has any.
double weighted_mean(std::span<const double> times, const std::vector<Part>& parts,
                     double cost_ns) {
  double sum = 0, steps = 0;
  for (const Part& part : parts) {
    const double mean = part.plain.empty() ? std::max(mean_of(times, part.with_ops) - cost_ns, 0.0)
                                           : mean_of(times, part.plain);
    sum += part.size() * mean;
    steps += part.size();
  }
  return sum / steps;
}

}  // namespace

std::vector<std::size_t> balanced_steps(std::span<const double> times,
                                        const std::vector<std::size_t>& plain,
                                        const std::vector<std::size_t>& all, double cost_ns) {
  if (plain.empty()) return plain;
  const std::vector<Part> parts = parts_of(plain, all);
  const double mean = mean_of(times, plain);
  const double bias = std::abs(weighted_mean(times, parts, cost_ns) - mean);
  if (bias < kLargestBias * mean || bias < 2 * standard_error(times, plain, mean)) return plain;

  double share = 1;
  for (const Part& part : parts) share = std::min(share, part.plain_share());
  share = std::max(share, kLeastShare);
  std::minstd_rand random(1);
  std::vector<std::size_t> chosen;
  for (const Part& part : parts) {
    const auto wanted = static_cast<std::size_t>(std::ceil(share * part.size()));
    std::ranges::sample(part.plain, std::back_inserter(chosen), static_cast<std::ptrdiff_t>(wanted),
                        random);
    const std::size_t missing = wanted - std::min(wanted, part.plain.size());
    std::ranges::sample(part.with_ops, std::back_inserter(chosen),
                        static_cast<std::ptrdiff_t>(missing), random);
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace stepscope
