#include "analyzer/verdict/cause.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stepscope {

std::map<Cause, std::vector<double>> cause_times(const std::vector<Step>& steps,
                                                 const std::vector<std::size_t>& chosen) {
  std::map<Cause, double> totals;
  for (const std::size_t i : chosen) {
    for (const StepTime& time : steps[i].times)
      totals[{time.category, time.label}] += static_cast<double>(to_ns(time.exposed));
  }
  std::vector<std::pair<double, const Cause*>> largest;
  for (const auto& [cause, total] : totals) largest.emplace_back(-total, &cause);
  std::sort(largest.begin(), largest.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  largest.resize(std::min(largest.size(), kMaxCauses));

  std::map<Cause, std::vector<double>> times;
  for (const auto& [total, cause] : largest) times[*cause].resize(chosen.size());
  for (std::size_t n = 0; n < chosen.size(); ++n) {
    for (const StepTime& time : steps[chosen[n]].times) {
      const auto it = times.find({time.category, time.label});
      if (it != times.end()) it->second[n] += static_cast<double>(to_ns(time.exposed));
    }
  }
  return times;
}

}  // namespace stepscope
