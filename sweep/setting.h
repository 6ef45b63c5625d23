// The name of a setting of a sweep.
#pragma once

#include <string>

#include "store/sweep_rows.h"

namespace stepscope {

// "old batch=8 length=64": the variant if there are several, and each value.
std::string setting_title(const SweepPlan& plan, const SweepCell& cell);

// The value of one parameter.
const SweepValue& value_of(const SweepPlan& plan, const SweepCell& cell, std::size_t parameter);

}  // namespace stepscope
