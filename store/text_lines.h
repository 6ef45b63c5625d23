// Joins a list of texts into one readable text, a line for each. A line end or a backslash within a
// text is written as "\n" or "\\".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

std::string join_lines(const std::vector<std::string>& texts);
// Accepts any text; never fails.
std::vector<std::string> split_lines(std::string_view text);

}  // namespace stepscope
