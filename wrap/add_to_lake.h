// `stepscope run --lake DIR`: the store becomes part of a lake when the program has ended.
#pragma once

#include <string>

namespace stepscope {

// Analyzes the store unless `analyzed`, and adds it. "" or a line on why not: nothing else comes of
// a failure. A lake that does not answer is given up after five minutes.
std::string add_to_lake(const std::string& store, const std::string& lake, bool analyzed);

}  // namespace stepscope
