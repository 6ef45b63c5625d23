// Whether some of the steps recur periodically, such as every 20th.
#pragma once

#include <cstdint>
#include <span>

namespace stepscope {

struct Rhythm {
  std::int64_t period = 0;  // in steps; 0 = aperiodic
  std::int64_t first = 0;   // the number of the first such step
  double log_p = 0;         // ln of a bound on the probability by chance; 0 if aperiodic
};

// `numbers`: the step numbers in question, ascending; `among`: how many steps there are in all. The
// period is the most frequent distance. The steps are periodic when at least kOnBeat of them lie on
// one phase of the period and fill at least kFilled of its places between the first and the last of
// them (another stall may have taken some).
Rhythm rhythm_of(std::span<const std::int64_t> numbers, std::int64_t among);

inline constexpr double kOnBeat = 0.8;
inline constexpr double kFilled = 0.7;

}  // namespace stepscope
