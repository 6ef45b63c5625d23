#include "analyzer/compare/estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyzer/compare/student_t.h"
#include "analyzer/mean.h"

namespace stepscope {
namespace {

// Autocovariances of one series, each computed on first use.
class Autocovariance {
 public:
  explicit Autocovariance(std::span<const double> values)
      : deviations_(values.begin(), values.end()) {
    const double mean = mean_of(values);
    for (double& value : deviations_) value -= mean;
  }

  [[nodiscard]] double at(std::size_t lag) const {
    double sum = 0;
    for (std::size_t i = lag; i < deviations_.size(); ++i) {
      sum += deviations_[i] * deviations_[i - lag];
    }
    return sum / static_cast<double>(deviations_.size());
  }

 private:
  std::vector<double> deviations_;
};

// The lag after which the autocorrelation is only noise: the least m that is followed by `run`
// insignificant ones (Politis and White 2004, section 3.2). `most` if there is none.
std::size_t last_correlated_lag(const std::vector<double>& covariance, std::size_t run,
                                double count, std::size_t most) {
  const double limit = 2 * std::sqrt(std::log10(count) / count) * covariance[0];
  std::size_t quiet = 0;
  for (std::size_t lag = 1; lag < covariance.size(); ++lag) {
    quiet = std::abs(covariance[lag]) < limit ? quiet + 1 : 0;
    if (quiet == run) return lag - run;
  }
  return most;
}

// Politis and White's estimate, without its factor count^(1/3).
double nonparametric_length(const Autocovariance& autocovariance, double variance,
                            std::size_t count) {
  const double n = static_cast<double>(count);
  const auto run = static_cast<std::size_t>(std::max(5.0, std::sqrt(std::log10(n))));
  const std::size_t most =
      std::min(count - 1, static_cast<std::size_t>(std::ceil(std::sqrt(n))) + run);
  std::vector<double> covariance = {variance};
  for (std::size_t lag = 1; lag <= most; ++lag) covariance.push_back(autocovariance.at(lag));
  const std::size_t correlated = last_correlated_lag(covariance, run, n, most);
  const std::size_t window = std::min(2 * std::max<std::size_t>(correlated, 1), most);
  double weighted = 0, spectrum = variance;
  for (std::size_t lag = 1; lag <= window; ++lag) {
    const double place = static_cast<double>(lag) / static_cast<double>(window);
    const double flat_top = std::min(1.0, 2 * (1 - place));
    weighted += 2 * flat_top * static_cast<double>(lag) * covariance[lag];
    spectrum += 2 * flat_top * covariance[lag];
  }
  // A spectrum near 0 means steps that compensate for each other; the plain error is right for
  // those.
  return spectrum > 0 ? std::pow(std::abs(weighted) / spectrum, 2.0 / 3) : 0;
}

// The same for a first-order autoregression with this correlation of neighbours.
double autoregressive_length(double correlation, double count) {
  constexpr double kMax = 0.97;
  const double phi = std::clamp(correlation + (1 + 3 * correlation) / count, 0.0, kMax);
  return std::pow(2 * phi / (1 - phi * phi), 2.0 / 3);
}

// The p-quantile of `sorted` values, interpolated.
double quantile(const std::vector<double>& sorted, double p) {
  const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The means of at most kMaxPieces blocks of neighbours, as equal in length as possible.
std::vector<double> in_blocks(std::span<const double> values) {
  const std::size_t blocks = std::min(values.size(), kMaxPieces);
  std::vector<double> result(blocks);
  for (std::size_t i = 0; i < values.size(); ++i) result[i * blocks / values.size()] += values[i];
  return result;
}

}  // namespace

double stretch_length(std::span<const double> values) {
  if (values.size() < 3) return 1;
  const double n = static_cast<double>(values.size());
  const Autocovariance autocovariance(values);
  const double variance = autocovariance.at(0);
  if (variance <= 0) return 1;
  const double length = std::max(nonparametric_length(autocovariance, variance, values.size()),
                                 autoregressive_length(autocovariance.at(1) / variance, n));
  const double most = std::max(1.0, std::min(3 * std::sqrt(n), n / 3));
  return std::clamp(kStretch * std::cbrt(n) * length, 1.0, most);
}

double bootstrap_variance(std::span<const double> values, double stretch) {
  if (values.empty()) return 0;
  constexpr double kNegligible = 1e-6;
  const double n = static_cast<double>(values.size());
  const double stay = 1 - 1 / stretch;  // probability that a stretch goes on for another step
  const Autocovariance autocovariance(values);
  double sum = autocovariance.at(0);
  for (std::size_t lag = 1; lag < values.size(); ++lag) {
    const double place = static_cast<double>(lag);
    const double weight =
        (1 - place / n) * std::pow(stay, place) + place / n * std::pow(stay, n - place);
    if (weight > kNegligible) sum += 2 * weight * autocovariance.at(lag);
  }
  return std::max(sum, 0.0) / n;
}

Estimate estimate_ratio(std::span<const double> parts, std::span<const double> wholes,
                        double steps) {
  const std::size_t count = std::min(parts.size(), wholes.size());
  const std::vector<double> part = in_blocks(parts.first(count));
  const std::vector<double> whole = in_blocks(wholes.first(count));
  const double mean_whole = mean_of(whole);
  Estimate result;
  result.pieces = static_cast<double>(part.size());
  result.steps = steps > 0 ? steps : static_cast<double>(count);
  if (part.empty() || mean_whole <= 0) return result;
  result.value = mean_of(part) / mean_whole;
  // By how much each step moves the ratio (the delta method); for a mean, its deviation.
  std::vector<double> moves;
  for (std::size_t i = 0; i < part.size(); ++i) {
    moves.push_back((part[i] - result.value * whole[i]) / mean_whole);
  }
  const double n = static_cast<double>(moves.size());
  const double stretch = stretch_length(moves);
  result.pieces = n / stretch;
  if (n < 2) return result;
  // Deviations from the mean of the steps themselves are too small by about as many steps as the
  // resamples weigh: 2 × stretch - 1. Without correlation that is Bessel's n / (n - 1).
  const double shrunk = std::max(1 - (2 * stretch - 1) / n, 1 / n);
  const double plain = bootstrap_variance(moves, 1) * n / (n - 1);
  // Steps that compensate for each other would give less than the plain error; this is not used.
  result.error = std::sqrt(std::max(bootstrap_variance(moves, stretch) / shrunk, plain));
  return result;
}

Estimate estimate_mean(std::span<const double> values) {
  return estimate_ratio(values, std::vector<double>(values.size(), 1.0));
}

Estimate estimate_median(std::span<const double> values) {
  if (values.empty()) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[(sorted.size() - 1) / 2];
  std::vector<double> at_most;
  for (const double value : values) at_most.push_back(value <= median ? 1 : 0);
  Estimate result = estimate_mean(at_most);
  // If few values are distinct, the share below the median may be far from half.
  const double error = std::max(result.error, 0.5 / std::sqrt(static_cast<double>(values.size())));
  result.error = (quantile(sorted, 0.5 + error) - quantile(sorted, 0.5 - error)) / 2;
  result.value = median;
  return result;
}

Interval interval_of(const Estimate& estimate, double level) {
  const double reach = student_quantile(level, estimate.freedom()) * estimate.error;
  return {estimate.value - reach, estimate.value + reach};
}

}  // namespace stepscope
