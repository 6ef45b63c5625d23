// Text by its width: counted in characters, not bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepscope {

std::size_t width_of(std::string_view utf8);
// At most `width` characters, printable (printable.h); a text that is cut ends in "…".
std::string cut(std::string_view raw, std::size_t width);

}  // namespace stepscope
