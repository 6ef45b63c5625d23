// A list of texts as one text that people can read: a line each. A line end or a backslash in a
// text is "\n" or "\\" there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

std::string join_lines(const std::vector<std::string>& texts);
// Of anything, without failing.
std::vector<std::string> split_lines(std::string_view text);

}  // namespace stepscope
