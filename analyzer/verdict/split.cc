#include "analyzer/verdict/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyzer/verdict/dip.h"
#include "analyzer/verdict/rhythm.h"

namespace stepscope {
namespace {

constexpr std::size_t kRhythmsTried = 16;  // the gaps that are most likely a border
constexpr double kMinDeviation = 0.01;     // of a kind, in logarithms: clocks have a resolution
constexpr double kMinWidth = 1.0 / 3;      // of a kind, × the deviation of all values
constexpr std::size_t kClipped = 20;       // 1 of so many values at either end may be an outlier

struct Moments {
  double count = 0, mean = 0, variance = 0;
};

// The values in order, and sums over their logarithms.
class SortedSeries {
 public:
  explicit SortedSeries(const StepSeries& series) : series_(series), order_(series.values.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return series.values[a] < series.values[b];
    });
    sum_.push_back(0);
    squares_.push_back(0);
    for (const std::size_t i : order_) {
      sorted_.push_back(series.values[i]);
      logs_.push_back(std::log(series.values[i] + series.floor));
      const double centered = logs_.back() - logs_.front();
      sum_.push_back(sum_.back() + centered);
      squares_.push_back(squares_.back() + centered * centered);
    }
  }

  [[nodiscard]] std::size_t size() const { return order_.size(); }
  [[nodiscard]] std::span<const double> sorted() const { return sorted_; }
  [[nodiscard]] std::span<const double> logs() const { return logs_; }
  [[nodiscard]] double floor() const { return series_.floor; }
  [[nodiscard]] std::size_t step(std::size_t rank) const { return order_[rank]; }
  [[nodiscard]] bool is_border(std::size_t at) const { return sorted_[at - 1] < sorted_[at]; }

  // The moments of the logarithms with ranks in [from, to).
  [[nodiscard]] Moments moments(std::size_t from, std::size_t to) const {
    Moments m;
    m.count = static_cast<double>(to - from);
    m.mean = (sum_[to] - sum_[from]) / m.count;
    m.variance = (squares_[to] - squares_[from]) / m.count - m.mean * m.mean;
    m.variance = std::max(m.variance, kMinDeviation * kMinDeviation);
    return m;
  }

  // The variance of all logarithms, with the values clipped to their 5 % and 95 % quantiles.
  [[nodiscard]] double clipped_variance() const {
    const std::size_t clipped = size() / kClipped;
    const double low = logs_[clipped], high = logs_[size() - 1 - clipped];
    const auto count = static_cast<double>(size());
    double sum = 0, squares = 0;
    for (const double value : logs_) {
      const double centered = std::clamp(value, low, high) - low;
      sum += centered;
      squares += centered * centered;
    }
    return squares / count - sum / count * (sum / count);
  }

  // Ashman's D of the kinds on either side of a border.
  [[nodiscard]] double separation(std::size_t at) const {
    const Moments lower = moments(0, at), upper = moments(at, size());
    return std::sqrt(2.0) * (upper.mean - lower.mean) / std::sqrt(lower.variance + upper.variance);
  }

  // The step numbers with ranks in [from, to), ascending.
  [[nodiscard]] std::vector<std::int64_t> numbers(std::size_t from, std::size_t to) const {
    std::vector<std::int64_t> result;
    for (std::size_t rank = from; rank < to; ++rank)
      result.push_back(series_.numbers[order_[rank]]);
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  StepSeries series_;
  std::vector<std::size_t> order_;
  std::vector<double> sorted_, logs_, sum_, squares_;
};

// Counts the runs of neighbours among the steps added so far.
class RunCount {
 public:
  explicit RunCount(std::size_t steps) : in_(steps + 2, 0) {}
  std::size_t add(std::size_t step) {
    in_[step + 1] = 1;
    runs_ += 1;
    runs_ -= std::size_t{in_[step]} + in_[step + 2];
    return runs_;
  }

 private:
  std::vector<std::uint8_t> in_;
  std::size_t runs_ = 0;
};

// The border that two normal distributions would draw, neither of them much narrower than all the
// values: otherwise the narrow core of a kind would be cut out of it, and its tail would count with
// the other kind however far away that is.
std::size_t minimum_error_border(const SortedSeries& series) {
  std::size_t best = 0;
  double least = 0;
  const auto count = static_cast<double>(series.size());
  const double narrowest = kMinWidth * kMinWidth * series.clipped_variance();
  for (std::size_t at = kMinOfAKind; at + kMinOfAKind <= series.size(); ++at) {
    if (!series.is_border(at)) continue;
    double error = 0;
    for (const Moments& m : {series.moments(0, at), series.moments(at, series.size())}) {
      const double variance = std::max(m.variance, narrowest);
      error += m.count / count *
               ((std::log(variance) + m.variance / variance) / 2 - std::log(m.count / count));
    }
    if (best == 0 || error < least) {
      best = at;
      least = error;
    }
  }
  return best;
}

// The number of independent values that would say as much about the border.
double effective_count(const SortedSeries& series, std::size_t border) {
  RunCount counted(series.size());
  std::size_t runs = 0;
  for (std::size_t rank = border; rank < series.size(); ++rank)
    runs = counted.add(series.step(rank));
  const auto count = static_cast<double>(series.size());
  const double upper = count - static_cast<double>(border);
  const double expected = 1 + upper * static_cast<double>(border) / count;
  return count * std::min(1.0, static_cast<double>(runs) / expected);
}

// `in_blocks`: the kinds may come in long blocks, as if neighbours were independent.
std::size_t border_of_frequent_kinds(const SortedSeries& series, bool in_blocks) {
  const double dip = dip_of(series.sorted());
  if (dip * std::sqrt(static_cast<double>(series.size())) <= kDipLimit) return 0;
  const std::size_t border = minimum_error_border(series);
  if (border == 0 || in_blocks) return border;
  return dip * std::sqrt(effective_count(series, border)) > kDipLimit ? border : 0;
}

struct Gap {
  std::size_t border = 0;
  double log_p = 0;   // of this gap
  double weight = 0;  // ln of how many gaps it stands for
};

// All gaps that have between kMinOfAKind and half of the values beyond them. `scale`: the sorted
// values, or their logarithms, in which gaps are measured; `blur`: smaller differences in it do not
// count.
std::vector<Gap> gaps(const SortedSeries& series, std::span<const double> scale, double blur,
                      bool above, bool in_blocks) {
  std::vector<Gap> result;
  const std::size_t count = series.size();
  const double weights = std::log(static_cast<double>(count));  // > sum of 1 / k
  RunCount counted(count);
  for (std::size_t k = 1; k <= count / 2; ++k) {
    const std::size_t runs = counted.add(series.step(above ? count - k : k - 1));
    const std::size_t border = above ? count - k : k;
    if (k < kMinOfAKind || !series.is_border(border)) continue;
    const double gap = scale[border] - scale[border - 1];
    const double range = above ? scale[count - 1] - scale[border - 1] : scale[border] - scale[0];
    const double log_p =
        static_cast<double>((in_blocks ? k : runs) - 1) * std::log1p(-gap / (range + blur));
    result.push_back({border, log_p, std::log(weights * static_cast<double>(k))});
  }
  return result;
}

// A rhythm turns a gap of medium size into a border, but not one without any size.
double with_rhythm(const SortedSeries& series, const Gap& gap, bool above) {
  const double alone = gap.log_p + gap.weight;
  if (gap.log_p > std::log(0.5)) return alone;
  const auto numbers =
      above ? series.numbers(gap.border, series.size()) : series.numbers(0, gap.border);
  const Rhythm rhythm = rhythm_of(numbers, static_cast<std::int64_t>(series.size()));
  if (rhythm.period == 0) return alone;
  // A product of two probabilities is less than q with probability q (1 - ln q).
  const double log_q = gap.log_p + rhythm.log_p;
  return std::min(alone, log_q + std::log1p(-log_q) + gap.weight);
}

std::size_t border_of_rare_kind(const SortedSeries& series, bool above, double chance,
                                bool in_blocks) {
  std::vector<Gap> found = above ? gaps(series, series.sorted(), series.floor(), above, in_blocks)
                                 : gaps(series, series.logs(), kMinDeviation, above, in_blocks);
  const std::size_t most = std::min(found.size(), kRhythmsTried);
  std::partial_sort(
      found.begin(), found.begin() + static_cast<std::ptrdiff_t>(most), found.end(),
      [](const Gap& a, const Gap& b) { return a.log_p + a.weight < b.log_p + b.weight; });
  found.resize(most);
  std::size_t border = 0;
  double least = std::log(chance);
  for (const Gap& gap : found) {
    const double log_p = with_rhythm(series, gap, above);
    if (log_p >= least) continue;
    least = log_p;
    border = gap.border;
  }
  return border;
}

// The border of the clearest split; 0: none.
std::size_t clearest_border(const SortedSeries& series, bool whole, double chance, bool in_blocks) {
  std::size_t border = 0;
  double separation = kMinSeparation;
  if (whole) chance /= 2;  // two tests for a rare kind
  for (const std::size_t found :
       {border_of_frequent_kinds(series, in_blocks),
        border_of_rare_kind(series, true, chance, in_blocks),
        whole ? border_of_rare_kind(series, false, chance, in_blocks) : 0}) {
    if (found == 0 || series.separation(found) <= separation) continue;
    border = found;
    separation = series.separation(found);
  }
  return border;
}

SeriesSplit split_at(const SortedSeries& series, std::size_t border) {
  SeriesSplit split{std::vector<std::uint8_t>(series.size(), 0), series.separation(border)};
  for (std::size_t rank = border; rank < series.size(); ++rank) split.upper[series.step(rank)] = 1;
  return split;
}

std::optional<SeriesSplit> split(const StepSeries& series, double chance, bool in_blocks) {
  if (series.values.size() < kMinSteps) return std::nullopt;
  const SortedSeries sorted(series);
  const std::size_t border = clearest_border(sorted, series.whole, chance, in_blocks);
  if (border == 0) return std::nullopt;
  return split_at(sorted, border);
}

}  // namespace

std::optional<SeriesSplit> split_series(const StepSeries& series, double chance) {
  return split(series, chance, /*in_blocks=*/false);
}

std::optional<SeriesSplit> split_levels(const StepSeries& series, double chance) {
  return split(series, chance, /*in_blocks=*/true);
}

}  // namespace stepscope
