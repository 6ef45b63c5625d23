// A confidence interval.
#pragma once

namespace stepscope {

struct Interval {
  double low = 0;
  double high = 0;
};

}  // namespace stepscope
