// A JSON string literal's text.
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// `literal` without its quotes. A view into it where nothing is escaped, else into `buffer`, where
// its escapes are resolved. Lenient, because names of ops may hold anything: half a surrogate pair
// becomes U+FFFD, an unknown escape stays as it is written. What is not a literal comes back whole.
std::string_view unescape_json(std::string_view literal, std::string& buffer);

}  // namespace stepscope
