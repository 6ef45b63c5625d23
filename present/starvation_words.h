// What took the cores that starved threads waited for, in words.
#pragma once

#include <string>

#include "analyzer/facts/starvation.h"

namespace stepscope {

// "8 threads of the program shared 2 cores."; "": unknown.
std::string taker_sentence(const CoreUse& cores);

}  // namespace stepscope
