// Whether some of the steps come in a regular rhythm: every 20th.
#pragma once

#include <cstdint>
#include <span>

namespace stepscope {

struct Rhythm {
  std::int64_t period = 0;  // every so manieth step; 0: no rhythm
  std::int64_t first = 0;   // the first step number of the rhythm
  double log_p = 0;         // ln of a bound on how likely chance is to be as regular; 0 without one
};

// `numbers`: the step numbers in question, ascending; `among`: how many steps there are in all. The
// period is the most frequent distance. It is one when at least kOnBeat of the steps lie on one
// beat of it and fill at least kFilled of the places that the beat has between the first and the
// last of them (another stall may have taken some).
Rhythm rhythm_of(std::span<const std::int64_t> numbers, std::int64_t among);

inline constexpr double kOnBeat = 0.8;
inline constexpr double kFilled = 0.7;

}  // namespace stepscope
