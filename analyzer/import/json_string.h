// A JSON string literal's text.
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// `literal` without its quotes: a view into it if it has no escapes, else into `buffer`, with the
// escapes resolved. Lenient, because op names may contain anything: half a surrogate pair becomes
// U+FFFD, an unknown escape stays as written. Anything that is not a literal is returned unchanged.
std::string_view unescape_json(std::string_view literal, std::string& buffer);

}  // namespace stepscope
