#include "analyzer/steps/cycle.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/median.h"
#include "analyzer/steps/cycle_candidates.h"

namespace stepscope {
namespace {

// Rounds with exactly the same items prove a loop, even a short one. Otherwise more is required.
constexpr double kEqualShare = 0.5;
constexpr std::size_t kMinVaryingRounds = 20;
constexpr double kVaryingCovered = 0.9;
// The items that most rounds have must be most of all items.
constexpr double kCoreShare = 0.8;
constexpr double kMinCovered = 0.75;
// Rounds can begin at a place that kPlaceShare of them have.
constexpr double kPlaceShare = 0.9;
// A wait stands out if kStandingShare of the gaps before rounds are kStanding times as long as
// others.
constexpr double kStandingShare = 0.6;
constexpr double kStanding = 4;
// A cycle that waits has at least kCredibleIdle of all idle time in its waits. A cycle that does
// not is dropped if kUnexplainedIdle of that time is in waits elsewhere, kSamePlace of them before
// items of the same name.
constexpr double kCredibleIdle = 0.25;
constexpr double kUnexplainedIdle = 0.5;
constexpr double kSamePlace = 0.75;
// A loop lasts at least this long compared with the longest: initialising ten equal layers repeats,
// too.
constexpr double kMinOfLongest = 0.5;
constexpr double kTrifle = 0.125;      // of a round: too little to make a round of its own
constexpr std::size_t kMaxExtras = 8;  // items between the first round and the second
constexpr std::size_t kMaxCompared = std::size_t{1} << 24;  // items, to find the first round

struct Found {
  Family family = Family::kName;
  Cycle cycle;
  std::uint32_t first_at = 0;  // index of the first anchor
  double span = 0;             // from its first round to the last, ns
  bool leaves_waits = false;   // waits inside its rounds have most of the idle time
  double idle_share = 0;       // the share of the idle time that lies before rounds
};

// Hashes of stretches of the sequence, by prefixes: h(i, j) = P[j] − P[i]·B^(j−i), modulo 2^64 on
// mixed keys. They are only compared for equality among a few hundred thousand stretches.
class StretchHashes {
 public:
  explicit StretchHashes(std::span<const LoopItem> items) : prefix_{0}, power_{1} {
    for (const LoopItem& item : items) {
      prefix_.push_back(prefix_.back() * kBase + mix(static_cast<std::uint64_t>(item.key)));
      power_.push_back(power_.back() * kBase);
    }
  }

  [[nodiscard]] std::uint64_t of(std::size_t from, std::size_t to) const {
    return prefix_[to] - prefix_[from] * power_[to - from];
  }

 private:
  static constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15ULL;
  // The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
  static std::uint64_t mix(std::uint64_t x) {
    x += kBase;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }

  std::vector<std::uint64_t> prefix_, power_;
};

// One search: the items, and what is computed from them once.
class CycleSearch {
 public:
  explicit CycleSearch(std::span<const LoopItem> items) : given_(items), hashes_(items) {}

  std::optional<Cycle> find() {
    std::vector<Found> found;
    for (const Candidate& candidate : cycle_candidates(given_)) {
      if (auto cycle = look_at(candidate)) found.push_back(*std::move(cycle));
    }
    double longest = 0;
    for (const Found& f : found) longest = std::max(longest, f.span);
    std::erase_if(found, [&](const Found& f) { return f.span < kMinOfLongest * longest; });
    return choose(std::move(found));
  }

 private:
  [[nodiscard]] double equal_share(const Positions& at) const {
    std::unordered_map<std::uint64_t, std::size_t> seen;
    for (std::size_t s = 0; s + 1 < at.size(); ++s) ++seen[hashes_.of(at[s], at[s + 1])];
    std::size_t equal = 0;
    for (const auto& [hash, count] : seen) equal += count > 1 ? count : 0;
    return static_cast<double>(equal) / static_cast<double>(at.size() - 1);
  }

  // The share of the items whose names most rounds have.
  [[nodiscard]] double covered_share(const Positions& at) const {
    std::vector<std::uint32_t> rounds(given_.by_name.size()), count(given_.by_name.size()),
        last(given_.by_name.size());
    for (std::size_t s = 0; s + 1 < at.size(); ++s) {
      for (std::uint32_t i = at[s]; i < at[s + 1]; ++i) {
        const std::uint32_t name = given_.names[i];
        ++count[name];
        if (std::exchange(last[name], static_cast<std::uint32_t>(s + 1)) != s + 1) ++rounds[name];
      }
    }
    const double least = kCoreShare * static_cast<double>(at.size() - 1);
    double covered = 0;
    for (std::size_t name = 0; name < given_.by_name.size(); ++name) {
      if (rounds[name] >= least) covered += count[name];
    }
    return covered / static_cast<double>(at.back() - at.front());
  }

  // The gaps at one place of the rounds.
  struct Place {
    std::uint32_t rounds = 0;
    double sum = 0, longest = 0;

    [[nodiscard]] double mean() const {  // a single pause is not a wait
      return rounds > 1 ? (sum - longest) / (rounds - 1) : 0;
    }
  };

  // Finds the place with the longest mean gap, among those that nearly all rounds have.
  void find_first(const Candidate& candidate, Cycle& cycle) const {
    const Positions& at = candidate.at;
    std::vector<Place> places(given_.by_name.size() * kMaxOccurrences);
    std::vector<std::uint32_t> seen(given_.by_name.size()), last(given_.by_name.size());
    for (std::size_t s = 0; s + 1 < at.size(); ++s) {
      for (std::uint32_t i = at[s]; i < at[s + 1]; ++i) {
        const std::uint32_t name = given_.names[i];
        if (std::exchange(last[name], static_cast<std::uint32_t>(s + 1)) != s + 1) seen[name] = 0;
        if (seen[name] >= kMaxOccurrences) continue;
        Place& place = places[name * kMaxOccurrences + seen[name]++];
        const double gap = ns_of(given_.items[i].gap);
        ++place.rounds;
        place.sum += gap;
        place.longest = std::max(place.longest, gap);
      }
    }
    const std::uint32_t anchor = given_.names[at.front()];
    std::size_t best = anchor * kMaxOccurrences;  // unless another place is better
    const double least = kPlaceShare * static_cast<double>(at.size() - 1);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].rounds >= least && places[i].mean() > places[best].mean()) best = i;
    }
    cycle.first = given_.items[given_.by_name[best / kMaxOccurrences].front()].key;
    cycle.nth = static_cast<std::uint32_t>(best % kMaxOccurrences);
    if (best / kMaxOccurrences != anchor) ++cycle.nth;  // the anchor itself is its own first
    cycle.mean_gap = places[best].mean();
  }

  // Finds out whether the gaps before rounds stand out from those inside rounds, and how much of
  // the idle time they have, without the longest of all gaps.
  void compare_gaps(const Positions& at, Found& found) const {
    CycleCutter cutter(found.cycle);
    std::vector<double> at_cuts, others;
    Positions others_at;
    double idle = 0, waited = 0, longest = 0;
    for (std::uint32_t i = 0; i < at.back(); ++i) {
      const bool cut = cutter.begins_round(given_.items[i]);
      if (i <= at.front()) continue;
      const double gap = ns_of(given_.items[i].gap);
      (cut ? at_cuts : others).push_back(gap);
      if (!cut) others_at.push_back(i);
      idle += gap;
      if (cut) waited += gap;
      if (gap > std::abs(longest)) longest = cut ? gap : -gap;
    }
    const double usual = others.empty() ? 0 : upper_median(others);
    const auto standing = std::count_if(at_cuts.begin(), at_cuts.end(),
                                        [&](double gap) { return gap > kStanding * usual; });
    found.cycle.waits =
        found.cycle.mean_gap > kWaitFactor * usual &&
        static_cast<double>(standing) >= kStandingShare * static_cast<double>(at_cuts.size());
    found.idle_share = (waited - std::max(longest, 0.0)) / std::max(idle - std::abs(longest), 1.0);
    found.leaves_waits = has_waits(others_at, kWaitFactor * usual, kUnexplainedIdle * idle);
  }

  // Whether there are pauses of more than `least` at these items, `least_sum` in total, most of
  // them before items of one name. Pauses in which the system stopped the thread are anywhere.
  [[nodiscard]] bool has_waits(const Positions& at, double least, double least_sum) const {
    std::vector<std::size_t> pauses(given_.by_name.size());
    std::size_t all = 0;
    double sum = 0;
    for (const std::uint32_t i : at) {
      const double gap = ns_of(given_.items[i].gap);
      if (gap <= least) continue;
      ++pauses[given_.names[i]];
      ++all;
      sum += gap;
    }
    const std::size_t most = *std::max_element(pauses.begin(), pauses.end());
    return most >= kMinRounds && sum >= least_sum &&
           static_cast<double>(most) >= kSamePlace * static_cast<double>(all);
  }

  // Equal rounds prove a loop. If rounds vary, there must be more of them, most items must be
  // common to most of them, and each must begin with a wait or a call.
  [[nodiscard]] bool proves_loop(const Candidate& candidate, const Found& found) const {
    const double covered = covered_share(candidate.at);
    if (candidate.steady >= kSteadyShare && covered >= kMinCovered &&
        equal_share(candidate.at) >= kEqualShare)
      return true;
    const bool marked = found.cycle.waits || candidate.family == Family::kCall;
    return marked && candidate.at.size() >= kMinVaryingRounds &&
           candidate.varying >= kVaryingShare && covered >= kVaryingCovered;
  }

  [[nodiscard]] std::optional<Found> look_at(const Candidate& candidate) const {
    const Positions& at = candidate.at;
    Found found;
    found.family = candidate.family;
    found.first_at = at.front();
    found.span = ns_of(given_.items[at.back()].start - given_.items[at.front()].start);
    found.cycle.anchor = candidate.anchor;
    found.cycle.length = candidate.length;
    found.cycle.rounds = at.size();
    find_first(candidate, found.cycle);
    compare_gaps(at, found);
    if (!proves_loop(candidate, found)) return std::nullopt;
    if (!found.cycle.waits) {  // no place is better than the anchor
      found.cycle.first = candidate.anchor.key;
      found.cycle.nth = 0;
    }
    return found;
  }

  // Whether, of two cycles that occur about equally often, the anchor of `a` tells more: it begins
  // the rounds itself or, without a wait, comes first.
  static bool tells_more(const Found& a, const Found& b) {
    if (!a.cycle.waits) return std::tuple(a.family, a.first_at) < std::tuple(b.family, b.first_at);
    return std::tuple(a.family, a.cycle.nth, -a.cycle.mean_gap) <
           std::tuple(b.family, b.cycle.nth, -b.cycle.mean_gap);
  }

  // How often `inner` occurs in a round of `outer`; 1 if they occur about equally often.
  static double rounds_in(const Found& inner, const Found& outer) {
    const double ratio =
        static_cast<double>(inner.cycle.rounds) / static_cast<double>(outer.cycle.rounds);
    return ratio > 0.9 && ratio < 1 / 0.9 ? 1 : ratio;
  }

  // Whether `outer` adds only a trifle to rounds of `inner` (a printed mean), and no part of a
  // step.
  static bool adds_a_trifle(const Found& outer, const Found& inner) {
    const double rest =
        static_cast<double>(outer.cycle.length) -
        std::round(rounds_in(inner, outer)) * static_cast<double>(inner.cycle.length);
    return std::abs(rest) <= kTrifle * static_cast<double>(inner.cycle.length);
  }

  // Among cycles that wait, chooses the one that occurs most often. If none waits, chooses the
  // outermost one (among scopes, if there are any), unless it only adds a trifle to rounds of
  // another.
  static std::optional<Cycle> choose(std::vector<Found> found) {
    if (found.empty()) return std::nullopt;
    const auto keep = [&found](auto better) {
      if (std::any_of(found.begin(), found.end(), better))
        std::erase_if(found, [&](const Found& f) { return !better(f); });
    };
    const auto waits = [](const Found& f) {
      return f.cycle.waits && f.idle_share >= kCredibleIdle;
    };
    keep(waits);
    // Waits inside rounds belong to longer rounds that were not found.
    std::erase_if(found, [&](const Found& f) { return !waits(f) && f.leaves_waits; });
    if (found.empty()) return std::nullopt;
    const bool innermost = waits(found.front());
    if (!innermost) keep([](const Found& f) { return f.family == Family::kCall; });

    std::stable_sort(found.begin(), found.end(), [&](const Found& a, const Found& b) {
      return innermost ? a.cycle.rounds > b.cycle.rounds : a.cycle.rounds < b.cycle.rounds;
    });
    const Found* best = &found.front();
    for (const Found& f : found) {
      const bool alike = rounds_in(f, *best) == 1;
      if (alike ? tells_more(f, *best) : !innermost && adds_a_trifle(*best, f)) best = &f;
    }
    return best->cycle;
  }

  NamedItems given_;
  StretchHashes hashes_;
};

}  // namespace

std::optional<Cycle> find_cycle(std::span<const LoopItem> items) {
  if (items.size() < kMinRounds) return std::nullopt;
  return CycleSearch(items).find();
}

std::vector<std::size_t> round_begins(const Cycle& cycle, std::span<const LoopItem> items) {
  CycleCutter cutter(cycle);
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (cutter.begins_round(items[i])) begins.push_back(i);
  }
  if (begins.size() < 2) return begins;
  const auto at = [&](std::size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
  const auto same_key = [](const LoopItem& a, const LoopItem& b) { return a.key == b.key; };
  const std::size_t length = begins[1] - begins[0];
  const std::size_t extras =
      std::max(kMaxExtras, std::min(length / 8, kMaxCompared / std::max<std::size_t>(length, 1)));
  for (std::size_t extra = 0; extra <= extras && length + extra <= begins[0]; ++extra) {
    const std::size_t first = begins[0] - length - extra;
    if (!std::equal(at(begins[0]), at(begins[1]), at(first), same_key)) continue;
    begins.insert(begins.begin(), first);
    break;
  }
  return begins;
}

bool CycleCutter::begins_round(const LoopItem& item) {
  bool at_anchor = cycle_.anchor.is_at(item, std::exchange(before_, item.key));
  ++since_anchor_;
  // A pause inside a round is not the wait before a round.
  if (cycle_.anchor.least_gap > Duration(0) && since_anchor_ * 4 < cycle_.length * 3)
    at_anchor = false;
  if (at_anchor) since_anchor_ = 0;
  if (at_anchor && cycle_.nth == 0) return true;
  if (at_anchor) missing_ = cycle_.nth;
  if (missing_ == 0 || item.key != cycle_.first) return false;
  if (at_anchor) return false;
  return --missing_ == 0;
}

}  // namespace stepscope
