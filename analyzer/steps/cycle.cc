#include "analyzer/steps/cycle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

using Positions = std::vector<std::uint32_t>;

// How far a round may be from the median length, and how many have to keep to it.
constexpr double kLengthSlack = 0.25;
constexpr double kSteadyShare = 0.65;
constexpr double kVaryingFactor = 2;  // longer or shorter, where rounds vary
// Rounds that are equal to the item prove a loop, also a short one. Without them it takes more.
constexpr double kEqualShare = 0.5;
constexpr std::size_t kLeastItems = 16;
constexpr std::size_t kLeastVaryingRounds = 20;
constexpr double kVaryingShare = 0.75;
constexpr double kVaryingCovered = 0.9;
// What most rounds hold is most of what there is.
constexpr double kCoreShare = 0.8;
constexpr double kLeastCovered = 0.75;
// Where rounds can begin: a place that so many of them have.
constexpr double kPlaceShare = 0.9;
// A wait that stands out: so many of the gaps, each so many times as long as the others.
constexpr double kStandingShare = 0.6;
constexpr double kStanding = 4;
// A cycle that waits has so much of all idle time in its waits; one that does not may leave so much
// of it in long pauses elsewhere.
constexpr double kCredibleIdle = 0.25;
constexpr double kUnexplainedIdle = 0.5;
// A loop is so much of what there is, and of what the longest loop is: initialising ten equal
// layers repeats too.
constexpr double kLeastSpan = 0.25;
constexpr double kLeastOfLongest = 0.5;
constexpr double kTrifle = 0.125;  // of a round: too little to make a round of its own
constexpr double kGapSplit = 4;    // ratio between the short and the long gaps of one name
constexpr std::size_t kMostCandidates = 32;
constexpr std::size_t kMostAlike = 4;  // candidates that come about equally often
constexpr std::size_t kGapSplitNames = 8;
constexpr std::size_t kMostExtras = 8;  // items between the first round and the second

enum class Family : std::uint8_t { kCall, kName, kAfter, kGap };  // the more telling first

struct Candidate {
  Family family = Family::kName;
  Anchor anchor;
  Positions at;
  std::size_t length = 0;  // median distance
  double steady = 0;       // share of distances near it
  double varying = 0;      // share of distances at most twice or half as long
  double gap = 0;          // mean, before the anchor
};

struct Found {
  Family family = Family::kName;
  Cycle cycle;
  std::uint32_t first_at = 0;  // the first anchor
  double span = 0;             // from its first round to the last, ns
  bool leaves_pauses = false;  // long ones inside of rounds, with most of the idle time
  double idle_share = 0;       // of the idle time there, what lies before rounds
};

double ns_of(Duration duration) { return static_cast<double>(duration.count()); }

template <typename T>
T median(std::vector<T>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Hashes of stretches of the sequence, by prefixes: h(i, j) = P[j] − P[i]·B^(j−i), modulo 2^64 on
// mixed keys. Only equality among a few hundred thousand stretches is asked.
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

// One search: the items, and what is made of them once.
class CycleSearch {
 public:
  explicit CycleSearch(std::span<const LoopItem> items) : items_(items), hashes_(items) {
    std::unordered_map<ItemKey, std::uint32_t> known;
    for (const LoopItem& item : items_) {
      names_.push_back(known.try_emplace(item.key, known.size()).first->second);
    }
    name_count_ = known.size();
  }

  std::optional<Cycle> find() {
    add_names();
    add_pairs();
    add_gap_splits();
    std::vector<Found> found;
    for (const Candidate& candidate : most_telling()) {
      if (auto cycle = look_at(candidate)) found.push_back(*std::move(cycle));
    }
    double longest = 0;
    for (const Found& f : found) longest = std::max(longest, f.span);
    std::erase_if(found, [&](const Found& f) { return f.span < kLeastOfLongest * longest; });
    return choose(std::move(found));
  }

 private:
  [[nodiscard]] ItemKey before(std::size_t i) const {
    return i > 0 ? items_[i - 1].key : ItemKey::kNone;
  }

  void add(Family family, const Anchor& anchor, Positions at) {
    if (at.size() < kLeastRounds) return;
    std::vector<std::uint32_t> distances;
    for (std::size_t i = 1; i < at.size(); ++i) distances.push_back(at[i] - at[i - 1]);
    Candidate candidate;
    candidate.family = family;
    candidate.anchor = anchor;
    candidate.length = median(distances);
    const double length = static_cast<double>(candidate.length);
    const auto share_within = [&](double least, double most) {
      const auto within = std::count_if(
          distances.begin(), distances.end(),
          [&](std::uint32_t distance) { return least <= distance && distance <= most; });
      return static_cast<double>(within) / static_cast<double>(distances.size());
    };
    candidate.steady = share_within((1 - kLengthSlack) * length, (1 + kLengthSlack) * length);
    candidate.varying = share_within(length / kVaryingFactor, length * kVaryingFactor);
    if (candidate.steady < kSteadyShare && candidate.varying < kVaryingShare) return;
    const bool whole = family == Family::kCall;
    if (at.back() - at.front() < kLeastSpan * static_cast<double>(items_.size())) return;
    if (!whole && candidate.length < 2) return;
    if (!whole && candidate.length * at.size() < kLeastItems) return;
    for (const std::uint32_t i : at) candidate.gap += ns_of(items_[i].gap);
    candidate.gap /= static_cast<double>(at.size());
    candidate.at = std::move(at);
    candidates_.push_back(std::move(candidate));
  }

  void add_names() {
    by_name_.resize(name_count_);
    for (std::uint32_t i = 0; i < items_.size(); ++i) by_name_[names_[i]].push_back(i);
    for (const Positions& at : by_name_) {
      const LoopItem& item = items_[at.front()];
      add(item.is_call ? Family::kCall : Family::kName, {item.key, ItemKey::kNone, Duration(0)},
          at);
    }
  }

  void add_pairs() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Positions> pairs;
    for (std::uint32_t i = 1; i < items_.size(); ++i)
      pairs[{names_[i - 1], names_[i]}].push_back(i);
    for (auto& [pair, at] : pairs) {
      if (at.size() == by_name_[pair.second].size()) continue;  // the name alone says it
      const Anchor anchor{items_[at.front()].key, before(at.front()), Duration(0)};
      add(Family::kAfter, anchor, std::move(at));
    }
  }

  // The names with the most idle time before them, where it falls into short and long gaps.
  void add_gap_splits() {
    std::vector<std::pair<double, std::size_t>> by_idle;
    for (std::size_t name = 0; name < name_count_; ++name) {
      double idle = 0;
      for (const std::uint32_t i : by_name_[name]) idle += ns_of(items_[i].gap);
      by_idle.emplace_back(-idle, name);
    }
    std::sort(by_idle.begin(), by_idle.end());
    by_idle.resize(std::min(by_idle.size(), kGapSplitNames));
    for (const auto& [idle, name] : by_idle) {
      const auto least = least_long_gap(by_name_[name]);
      if (!least) continue;
      Positions at;
      std::copy_if(by_name_[name].begin(), by_name_[name].end(), std::back_inserter(at),
                   [&](std::uint32_t i) { return items_[i].gap >= *least; });
      const Anchor anchor{items_[at.front()].key, ItemKey::kNone, *least};
      add(Family::kGap, anchor, std::move(at));
    }
  }

  // Between the two neighbours, by length, that differ most; both sides have enough of them.
  [[nodiscard]] std::optional<Duration> least_long_gap(const Positions& at) const {
    std::vector<double> gaps;
    for (const std::uint32_t i : at) gaps.push_back(std::max(ns_of(items_[i].gap), 1.0));
    std::sort(gaps.begin(), gaps.end());
    double widest = kGapSplit;
    std::optional<Duration> least;
    for (std::size_t i = kLeastRounds; i + kLeastRounds <= gaps.size(); ++i) {
      const double ratio = gaps[i] / gaps[i - 1];
      if (ratio < widest) continue;
      widest = ratio;
      least = Duration(std::llround(std::sqrt(gaps[i] * gaps[i - 1])));
    }
    return least;
  }

  // Of candidates that come about equally often, those that tell most, and the one that comes
  // first; of all these, the steadiest.
  std::vector<Candidate> most_telling() {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::tuple(a.family, -a.gap) < std::tuple(b.family, -b.gap);
                     });
    struct Alike {
      std::size_t count = 0;
      std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    };
    const auto often = [](const Candidate& candidate) {
      return std::lround(8 * std::log2(static_cast<double>(candidate.at.size())));
    };
    std::map<long, Alike> alike;
    for (const Candidate& candidate : candidates_) {
      std::uint32_t& first = alike[often(candidate)].first;
      first = std::min(first, candidate.at.front());
    }
    std::vector<Candidate> result;
    for (Candidate& candidate : candidates_) {
      Alike& others = alike[often(candidate)];
      if (others.count++ < kMostAlike || candidate.at.front() == others.first)
        result.push_back(std::move(candidate));
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Candidate& a, const Candidate& b) { return a.steady > b.steady; });
    if (result.size() > kMostCandidates) result.resize(kMostCandidates);
    return result;
  }

  [[nodiscard]] double equal_share(const Positions& at) const {
    std::unordered_map<std::uint64_t, std::size_t> seen;
    for (std::size_t s = 0; s + 1 < at.size(); ++s) ++seen[hashes_.of(at[s], at[s + 1])];
    std::size_t equal = 0;
    for (const auto& [hash, count] : seen) equal += count > 1 ? count : 0;
    return static_cast<double>(equal) / static_cast<double>(at.size() - 1);
  }

  // The share of the items whose names most rounds have.
  [[nodiscard]] double covered_share(const Positions& at) const {
    std::vector<std::uint32_t> rounds(name_count_), count(name_count_), last(name_count_);
    for (std::size_t s = 0; s + 1 < at.size(); ++s) {
      for (std::uint32_t i = at[s]; i < at[s + 1]; ++i) {
        const std::uint32_t name = names_[i];
        ++count[name];
        if (std::exchange(last[name], static_cast<std::uint32_t>(s + 1)) != s + 1) ++rounds[name];
      }
    }
    const double least = kCoreShare * static_cast<double>(at.size() - 1);
    double covered = 0;
    for (std::size_t name = 0; name < name_count_; ++name) {
      if (rounds[name] >= least) covered += count[name];
    }
    return covered / static_cast<double>(at.back() - at.front());
  }

  // What stands at one place of the rounds.
  struct Place {
    std::uint32_t rounds = 0;
    double sum = 0, longest = 0;

    [[nodiscard]] double mean() const {  // a single pause is no wait
      return rounds > 1 ? (sum - longest) / (rounds - 1) : 0;
    }
  };

  // The place with the longest mean gap, of those that nearly all rounds have.
  void find_first(const Candidate& candidate, Cycle& cycle) const {
    const Positions& at = candidate.at;
    std::vector<Place> places(name_count_ * kMostOccurrences);
    std::vector<std::uint32_t> seen(name_count_), last(name_count_);
    for (std::size_t s = 0; s + 1 < at.size(); ++s) {
      for (std::uint32_t i = at[s]; i < at[s + 1]; ++i) {
        const std::uint32_t name = names_[i];
        if (std::exchange(last[name], static_cast<std::uint32_t>(s + 1)) != s + 1) seen[name] = 0;
        if (seen[name] >= kMostOccurrences) continue;
        Place& place = places[name * kMostOccurrences + seen[name]++];
        const double gap = ns_of(items_[i].gap);
        ++place.rounds;
        place.sum += gap;
        place.longest = std::max(place.longest, gap);
      }
    }
    const std::uint32_t anchor = names_[at.front()];
    std::size_t best = anchor * kMostOccurrences;  // where no other place is better
    const double least = kPlaceShare * static_cast<double>(at.size() - 1);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].rounds >= least && places[i].mean() > places[best].mean()) best = i;
    }
    cycle.first = items_[by_name_[best / kMostOccurrences].front()].key;
    cycle.nth = static_cast<std::uint32_t>(best % kMostOccurrences);
    if (best / kMostOccurrences != anchor) ++cycle.nth;  // the anchor itself is its own first
    cycle.mean_gap = places[best].mean();
  }

  // Do the gaps before the rounds stand out among the gaps in them? And how much of the idle time
  // is in them, but for the longest of all gaps?
  void compare_gaps(const Positions& at, Found& found) const {
    CycleCutter cutter(found.cycle);
    std::vector<double> at_cuts, others;
    double idle = 0, waited = 0, longest = 0, paused = 0;
    for (std::uint32_t i = 0; i < at.back(); ++i) {
      const bool cut = cutter.begins_round(items_[i]);
      if (i <= at.front()) continue;
      const double gap = ns_of(items_[i].gap);
      (cut ? at_cuts : others).push_back(gap);
      idle += gap;
      if (cut) waited += gap;
      if (gap > std::abs(longest)) longest = cut ? gap : -gap;
    }
    const double usual = others.empty() ? 0 : median(others);
    const auto standing = std::count_if(at_cuts.begin(), at_cuts.end(),
                                        [&](double gap) { return gap > kStanding * usual; });
    found.cycle.waits =
        found.cycle.mean_gap > kStandsOut * usual &&
        static_cast<double>(standing) >= kStandingShare * static_cast<double>(at_cuts.size());
    std::size_t pauses = 0;
    for (const double gap : others) {
      if (gap <= kStandsOut * usual) continue;
      paused += gap;
      ++pauses;
    }
    found.leaves_pauses = pauses >= kLeastRounds && paused >= kUnexplainedIdle * idle;
    found.idle_share = (waited - std::max(longest, 0.0)) / std::max(idle - std::abs(longest), 1.0);
  }

  // Rounds that are the same prove a loop. Where they vary, there have to be more of them, with the
  // same in all, and each begins with a wait or a call.
  [[nodiscard]] bool proves_loop(const Candidate& candidate, const Found& found) const {
    const double covered = covered_share(candidate.at);
    if (candidate.steady >= kSteadyShare && covered >= kLeastCovered &&
        equal_share(candidate.at) >= kEqualShare)
      return true;
    const bool marked = found.cycle.waits || candidate.family == Family::kCall;
    return marked && candidate.at.size() >= kLeastVaryingRounds &&
           candidate.varying >= kVaryingShare && covered >= kVaryingCovered;
  }

  [[nodiscard]] std::optional<Found> look_at(const Candidate& candidate) const {
    const Positions& at = candidate.at;
    Found found;
    found.family = candidate.family;
    found.first_at = at.front();
    found.span = ns_of(items_[at.back()].start - items_[at.front()].start);
    found.cycle.anchor = candidate.anchor;
    found.cycle.length = candidate.length;
    found.cycle.rounds = at.size();
    find_first(candidate, found.cycle);
    compare_gaps(at, found);
    if (!proves_loop(candidate, found)) return std::nullopt;
    if (!found.cycle.waits) {  // no place is better than another
      found.cycle.first = candidate.anchor.key;
      found.cycle.nth = 0;
    }
    return found;
  }

  // Of cycles that come about equally often, the one whose anchor tells more: it begins the rounds
  // itself; without a wait, the loop begins with it.
  static bool tells_more(const Found& a, const Found& b) {
    if (!a.cycle.waits) return std::tuple(a.family, a.first_at) < std::tuple(b.family, b.first_at);
    return std::tuple(a.family, a.cycle.nth, -a.cycle.mean_gap) <
           std::tuple(b.family, b.cycle.nth, -b.cycle.mean_gap);
  }

  // How often `inner` comes in a round of `outer`; 1 when they come about equally often.
  static double rounds_in(const Found& inner, const Found& outer) {
    const double ratio =
        static_cast<double>(inner.cycle.rounds) / static_cast<double>(outer.cycle.rounds);
    return ratio > 0.9 && ratio < 1 / 0.9 ? 1 : ratio;
  }

  // Is what `outer` has besides rounds of `inner` a trifle (a printed mean), and no part of a step?
  static bool adds_a_trifle(const Found& outer, const Found& inner) {
    const double rest =
        static_cast<double>(outer.cycle.length) -
        std::round(rounds_in(inner, outer)) * static_cast<double>(inner.cycle.length);
    return std::abs(rest) <= kTrifle * static_cast<double>(inner.cycle.length);
  }

  // Among cycles that wait, the one that comes most often. Where none does, the outermost one (of
  // the scopes, when there are any), unless it is rounds of another and a trifle.
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
    // The pauses come in rounds that were not found: these are parts of them.
    std::erase_if(found, [&](const Found& f) { return !waits(f) && f.leaves_pauses; });
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

  std::span<const LoopItem> items_;
  StretchHashes hashes_;
  std::vector<std::uint32_t> names_;  // of each item, from 0
  std::size_t name_count_ = 0;
  std::vector<Positions> by_name_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::optional<Cycle> find_cycle(std::span<const LoopItem> items) {
  if (items.size() < kLeastRounds) return std::nullopt;
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
  const std::size_t extras = std::max<std::size_t>(length / 8, kMostExtras);
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
  // A pause inside a round is no wait before one.
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
