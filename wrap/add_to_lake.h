// `stepscope run --lake DIR`: adds the store to a lake when the program has ended.
#pragma once

#include <string>

namespace stepscope {

// Analyzes the store unless `analyzed`, and adds it to the lake. Returns "", or a line that says
// why that failed; a failure has no other effect. Gives up after five minutes if the lake does not
// answer.
std::string add_to_lake(const std::string& store, const std::string& lake, bool analyzed);

}  // namespace stepscope
