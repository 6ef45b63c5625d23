// How a setting of a sweep is called.
#pragma once

#include <string>

#include "store/sweep_rows.h"

namespace stepscope {

// "old batch=8 length=64": the variant where there are several, and each value.
std::string setting_title(const SweepPlan& plan, const SweepCell& cell);

// Of the value of one parameter.
const SweepValue& value_of(const SweepPlan& plan, const SweepCell& cell, std::size_t parameter);

}  // namespace stepscope
