#include "analyzer/verdict/populations.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

namespace stepscope {
namespace {

using Members = std::vector<std::size_t>;

template <typename Value>
std::vector<Value> of_members(const std::vector<Value>& values, const Members& members) {
  std::vector<Value> result;
  for (const std::size_t i : members) result.push_back(values[i]);
  return result;
}

// The middle value, the upper one of two.
double median_time(const StepProfiles& profiles, const Members& members) {
  std::vector<double> times = of_members(profiles.times, members);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

struct Halves {
  Members lower, upper;
  double separation = 0;
};

constexpr double kFew = 0.05;  // of a kind's steps, and of a level's

// Whether more than a few steps of the kind, or of the level, are steps of both.
bool share_steps(const Members& kind, const Members& level) {
  Members both;
  std::ranges::set_intersection(kind, level, std::back_inserter(both));
  return static_cast<double>(both.size()) >
         kFew * static_cast<double>(std::min(kind.size(), level.size()));
}

// Whether one of two kinds belongs to one of two levels while the other kind has steps of both.
bool cuts_a_level(const Halves& kinds, const Halves& levels) {
  const auto spans_both = [&](const Members& kind) {
    return share_steps(kind, levels.lower) && share_steps(kind, levels.upper);
  };
  return spans_both(kinds.lower) != spans_both(kinds.upper);
}

class KindSearch {
 public:
  explicit KindSearch(const StepProfiles& profiles)
      : profiles_(profiles),
        floor_(std::accumulate(profiles.times.begin(), profiles.times.end(), 0.0) /
               static_cast<double>(std::max<std::size_t>(profiles.times.size(), 1)) / 100),
        chance_(kFalseKinds / static_cast<double>(profiles.causes.size() + 1)) {}

  // Divides one of the kinds in two, if any is divisible.
  bool refine(std::vector<Members>& kinds) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      if (const auto halves = divide(kinds[kind])) {
        kinds[kind] = halves->lower;
        kinds.push_back(halves->upper);
        return true;
      }
    }
    return false;
  }

 private:
  std::optional<Halves> divide(const Members& members) {
    std::optional<Halves> best = divide_by(members, profiles_.times, true);
    for (const std::vector<double>& cause : profiles_.causes) {
      auto halves = divide_by(members, cause, false);
      if (halves && (!best || halves->separation > best->separation)) best = std::move(halves);
    }
    if (!best) return best;
    // If the level of the steps changes too, the steps of one level must not be shared out between
    // a kind of their own and the other level, which is further away.
    auto levels = divide_by(members, profiles_.times, true, true);
    if (levels && levels->separation > best->separation && cuts_a_level(*best, *levels))
      return levels;
    return best;
  }

  std::optional<Halves> divide_by(const Members& members, const std::vector<double>& values,
                                  bool whole, bool into_levels = false) {
    const std::vector<double> chosen = of_members(values, members);
    const std::vector<std::int64_t> numbers = of_members(profiles_.numbers, members);
    const StepSeries series{chosen, numbers, floor_, whole};
    const auto split = into_levels ? split_levels(series, chance_) : split_series(series, chance_);
    if (!split) return std::nullopt;
    Halves halves;
    halves.separation = split->separation;
    for (std::size_t i = 0; i < members.size(); ++i)
      (split->upper[i] ? halves.upper : halves.lower).push_back(members[i]);
    const double lower = median_time(profiles_, halves.lower);
    const double upper = median_time(profiles_, halves.upper);
    if (std::max(lower, upper) < kMinRatio * std::min(lower, upper)) return std::nullopt;
    return halves;
  }

  const StepProfiles& profiles_;
  double floor_;
  double chance_;
};

}  // namespace

std::vector<std::vector<std::size_t>> find_populations(const StepProfiles& profiles) {
  std::vector<Members> kinds(1);
  kinds[0].resize(profiles.times.size());
  std::iota(kinds[0].begin(), kinds[0].end(), std::size_t{0});
  KindSearch search(profiles);
  while (kinds.size() < kMaxKinds && search.refine(kinds)) {
  }
  const auto usual = std::max_element(
      kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::iter_swap(kinds.begin(), usual);
  std::sort(kinds.begin() + 1, kinds.end(), [&](const Members& a, const Members& b) {
    return median_time(profiles, a) < median_time(profiles, b);
  });
  return kinds;
}

}  // namespace stepscope
