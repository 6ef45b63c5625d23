// Text by its width: the columns that it takes in a terminal. Most characters take one, Chinese,
// Japanese and Korean ones and most emoji two, and combining marks none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepscope {

std::size_t width_of(std::string_view utf8);
// At most `width` columns, printable (printable.h); a text that is cut ends in "…".
std::string cut(std::string_view raw, std::size_t width);

}  // namespace stepscope
