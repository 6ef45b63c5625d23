#include "analyzer/steps/cycle_candidates.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/median.h"

namespace stepscope {
namespace {

constexpr double kLengthSlack = 0.25;  // near the median length
constexpr double kVaryingFactor = 2;   // not far from it
constexpr std::size_t kMinItems = 16;
constexpr double kMinSpan = 0.25;  // of all items lie between the first and the last
constexpr double kGapSplit = 4;    // ratio between the short and the long gaps of one name
constexpr std::size_t kGapSplitNames = 8;
constexpr std::size_t kMaxCandidates = 32;
constexpr std::size_t kMaxAlike = 4;  // candidates that occur about equally often

class CandidateSearch {
 public:
  explicit CandidateSearch(const NamedItems& given) : given_(given) {}

  std::vector<Candidate> find() {
    add_names();
    add_pairs();
    add_gap_splits();
    return most_telling();
  }

 private:
  [[nodiscard]] ItemKey before(std::size_t i) const {
    return i > 0 ? given_.items[i - 1].key : ItemKey::kNone;
  }

  void add(Family family, const Anchor& anchor, Positions at) {
    if (at.size() < kMinRounds) return;
    std::vector<std::uint32_t> distances;
    for (std::size_t i = 1; i < at.size(); ++i) distances.push_back(at[i] - at[i - 1]);
    Candidate candidate;
    candidate.family = family;
    candidate.anchor = anchor;
    candidate.length = upper_median(distances);
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
    if (at.back() - at.front() < kMinSpan * static_cast<double>(given_.items.size())) return;
    if (!whole && candidate.length < 2) return;
    if (!whole && candidate.length * at.size() < kMinItems) return;
    for (const std::uint32_t i : at) candidate.gap += ns_of(given_.items[i].gap);
    candidate.gap /= static_cast<double>(at.size());
    candidate.at = std::move(at);
    candidates_.push_back(std::move(candidate));
  }

  void add_names() {
    for (const Positions& at : given_.by_name) {
      const LoopItem& item = given_.items[at.front()];
      add(item.is_call ? Family::kCall : Family::kName, {item.key, ItemKey::kNone, Duration(0)},
          at);
    }
  }

  void add_pairs() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Positions> pairs;
    for (std::uint32_t i = 1; i < given_.items.size(); ++i)
      pairs[{given_.names[i - 1], given_.names[i]}].push_back(i);
    for (auto& [pair, at] : pairs) {
      if (at.size() == given_.by_name[pair.second].size()) continue;  // the name alone suffices
      const Anchor anchor{given_.items[at.front()].key, before(at.front()), Duration(0)};
      add(Family::kAfter, anchor, std::move(at));
    }
  }

  // For the names with the most idle time before them, adds the long gaps, if they differ clearly
  // from the short ones.
  void add_gap_splits() {
    std::vector<std::pair<double, std::size_t>> by_idle;
    for (std::size_t name = 0; name < given_.by_name.size(); ++name) {
      double idle = 0;
      for (const std::uint32_t i : given_.by_name[name]) idle += ns_of(given_.items[i].gap);
      by_idle.emplace_back(-idle, name);
    }
    std::sort(by_idle.begin(), by_idle.end());
    by_idle.resize(std::min(by_idle.size(), kGapSplitNames));
    for (const auto& [idle, name] : by_idle) {
      const auto least = least_long_gap(given_.by_name[name]);
      if (!least) continue;
      Positions at;
      std::copy_if(given_.by_name[name].begin(), given_.by_name[name].end(), std::back_inserter(at),
                   [&](std::uint32_t i) { return given_.items[i].gap >= *least; });
      const Anchor anchor{given_.items[at.front()].key, ItemKey::kNone, *least};
      add(Family::kGap, anchor, std::move(at));
    }
  }

  // The border between short and long gaps: between the two neighbours, by length, that differ
  // most. Both sides must have enough gaps.
  [[nodiscard]] std::optional<Duration> least_long_gap(const Positions& at) const {
    std::vector<double> gaps;
    for (const std::uint32_t i : at) gaps.push_back(std::max(ns_of(given_.items[i].gap), 1.0));
    std::sort(gaps.begin(), gaps.end());
    double widest = kGapSplit;
    std::optional<Duration> least;
    for (std::size_t i = kMinRounds; i + kMinRounds <= gaps.size(); ++i) {
      const double ratio = gaps[i] / gaps[i - 1];
      if (ratio < widest) continue;
      widest = ratio;
      least = Duration(std::llround(std::sqrt(gaps[i] * gaps[i - 1])));
    }
    return least;
  }

  // Of candidates that occur about equally often, keeps those that tell most and the one that comes
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
      if (others.count++ < kMaxAlike || candidate.at.front() == others.first)
        result.push_back(std::move(candidate));
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Candidate& a, const Candidate& b) { return a.steady > b.steady; });
    if (result.size() > kMaxCandidates) result.resize(kMaxCandidates);
    return result;
  }

  const NamedItems& given_;
  std::vector<Candidate> candidates_;
};

}  // namespace

NamedItems::NamedItems(std::span<const LoopItem> sequence) : items(sequence) {
  std::unordered_map<ItemKey, std::uint32_t> known;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    const auto next = static_cast<std::uint32_t>(known.size());
    const std::uint32_t name = known.try_emplace(items[i].key, next).first->second;
    if (name == by_name.size()) by_name.emplace_back();
    by_name[name].push_back(i);
    names.push_back(name);
  }
}

std::vector<Candidate> cycle_candidates(const NamedItems& items) {
  return CandidateSearch(items).find();
}

}  // namespace stepscope
