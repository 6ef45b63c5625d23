#include "analyzer/verdict/dip.h"

#include <algorithm>
#include <vector>

namespace stepscope {
namespace {

using Index = std::ptrdiff_t;

// One round of the algorithm looks at [low, high] for the modal interval: where the greatest convex
// minorant of the distribution function below and its least concave majorant above are furthest
// apart. Distances are counted in steps of the distribution function, 1 / n each.
class DipSearch {
 public:
  explicit DipSearch(std::span<const double> sorted)
      : x_(sorted), last_(static_cast<Index>(sorted.size()) - 1) {
    link_minorant();
    link_majorant();
  }

  double largest_distance() {
    Index low = 0, high = last_;
    double dip = 1;
    while (true) {
      collect_vertices(low, high);
      const double between = modal_interval();
      if (between < dip) return dip;
      dip = std::max({dip, below_minorant(), above_majorant()});
      const Index new_low = minorant_[minorant_at_], new_high = majorant_[majorant_at_];
      if (new_low == low && new_high == high) return dip;
      low = new_low;
      high = new_high;
    }
  }

 private:
  [[nodiscard]] double at(Index i) const { return x_[static_cast<std::size_t>(i)]; }

  // minorant_before_[j]: the vertex before j of the convex minorant of the points 0 … j.
  void link_minorant() {
    minorant_before_.resize(x_.size());
    for (Index j = 1; j <= last_; ++j) {
      Index before = j - 1;
      while (before != 0) {
        const Index earlier = minorant_before_[static_cast<std::size_t>(before)];
        const bool convex = (at(j) - at(before)) * static_cast<double>(before - earlier) <
                            (at(before) - at(earlier)) * static_cast<double>(j - before);
        if (convex) break;
        before = earlier;
      }
      minorant_before_[static_cast<std::size_t>(j)] = before;
    }
  }

  // majorant_after_[k]: the vertex after k of the concave majorant of the points k … last.
  void link_majorant() {
    majorant_after_.assign(x_.size(), last_);
    for (Index k = last_ - 1; k >= 0; --k) {
      Index after = k + 1;
      while (after != last_) {
        const Index later = majorant_after_[static_cast<std::size_t>(after)];
        const bool concave = (at(after) - at(k)) * static_cast<double>(later - after) <
                             (at(later) - at(after)) * static_cast<double>(after - k);
        if (concave) break;
        after = later;
      }
      majorant_after_[static_cast<std::size_t>(k)] = after;
    }
  }

  // Vertices of the minorant from high down to low, of the majorant from low up to high.
  void collect_vertices(Index low, Index high) {
    minorant_.assign(1, high);
    while (minorant_.back() > low)
      minorant_.push_back(minorant_before_[static_cast<std::size_t>(minorant_.back())]);
    majorant_.assign(1, low);
    while (majorant_.back() < high)
      majorant_.push_back(majorant_after_[static_cast<std::size_t>(majorant_.back())]);
  }

  // Walks both from the left, vertex by vertex; remembers where they are furthest apart.
  double modal_interval() {
    minorant_at_ = minorant_.size() - 1;
    majorant_at_ = majorant_.size() - 1;
    if (minorant_.size() == 2 && majorant_.size() == 2) return 1;
    std::size_t g = minorant_.size() - 2, l = 1;
    double largest = 0;
    while (true) {
      if (minorant_[g] > majorant_[l]) {  // the next vertex is the majorant's
        const Index from = minorant_[g + 1], to = minorant_[g], here = majorant_[l];
        const double apart =
            static_cast<double>(here - from + 1) -
            (at(here) - at(from)) * static_cast<double>(to - from) / (at(to) - at(from));
        ++l;
        if (apart >= largest) {
          largest = apart;
          minorant_at_ = g + 1;
          majorant_at_ = l - 1;
        }
      } else {
        const Index from = majorant_[l - 1], to = majorant_[l], here = minorant_[g];
        const double apart =
            (at(here) - at(from)) * static_cast<double>(to - from) / (at(to) - at(from)) -
            static_cast<double>(here - from - 1);
        if (apart >= largest) {
          largest = apart;
          minorant_at_ = g;
          majorant_at_ = l;
        }
        if (g > 0) --g;
      }
      l = std::min(l, majorant_.size() - 1);
      if (minorant_[g] == majorant_[l]) return largest;
    }
  }

  // How far the distribution function is from the minorant left of the modal interval.
  [[nodiscard]] double below_minorant() const {
    double most = 0;
    for (std::size_t i = minorant_at_; i + 1 < minorant_.size(); ++i) {
      const Index from = minorant_[i + 1], to = minorant_[i];
      if (to - from <= 1 || at(to) == at(from)) continue;
      const double slope = static_cast<double>(to - from) / (at(to) - at(from));
      for (Index j = from; j <= to; ++j) {
        most = std::max(most, static_cast<double>(j - from + 1) - (at(j) - at(from)) * slope);
      }
    }
    return most;
  }

  // How far it is from the majorant right of that interval.
  [[nodiscard]] double above_majorant() const {
    double most = 0;
    for (std::size_t i = majorant_at_; i + 1 < majorant_.size(); ++i) {
      const Index from = majorant_[i], to = majorant_[i + 1];
      if (to - from <= 1 || at(to) == at(from)) continue;
      const double slope = static_cast<double>(to - from) / (at(to) - at(from));
      for (Index j = from; j <= to; ++j) {
        most = std::max(most, (at(j) - at(from)) * slope - static_cast<double>(j - from - 1));
      }
    }
    return most;
  }

  std::span<const double> x_;
  Index last_;
  std::vector<Index> minorant_before_, majorant_after_;
  std::vector<Index> minorant_, majorant_;         // vertices of this round
  std::size_t minorant_at_ = 0, majorant_at_ = 0;  // the modal interval's ends in them
};

}  // namespace

double dip_of(std::span<const double> sorted) {
  const double count = static_cast<double>(sorted.size());
  if (sorted.empty()) return 0;
  if (sorted.front() == sorted.back()) return 1 / (2 * count);
  return DipSearch(sorted).largest_distance() / (2 * count);
}

}  // namespace stepscope
