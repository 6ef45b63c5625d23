// The page that `stepscope what-if` prints: the step as measured, as replayed and as predicted.
#pragma once

#include <string>

#include "analyzer/what_if.h"

namespace stepscope {

// No line is wider than 100 characters. Ends in a newline.
std::string what_if_text(const WhatIfAnswer& answer);

}  // namespace stepscope
