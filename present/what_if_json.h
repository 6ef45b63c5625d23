// The machine-readable contract "stepscope.what_if/1": docs/cli.md lists the keys.
#pragma once

#include <string>

#include "analyzer/what_if.h"

namespace stepscope {

// One JSON document, indented, ending in a newline.
std::string what_if_json(const WhatIfAnswer& answer);

}  // namespace stepscope
