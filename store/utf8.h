// Text from outside (op names, thread names, arguments may hold any bytes) made safe to store and
// show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepscope {

// Valid UTF-8 as the Unicode standard defines it (table 3-7: no overlong forms, no surrogates, at
// most U+10FFFF) and without U+0000.
bool is_clean_utf8(std::string_view text);

// `text` with each ill-formed part replaced by U+FFFD: one for each maximal subpart, as the Unicode
// standard (chapter 3.9) recommends and browsers do. U+0000 is replaced too, because SQLite's shell
// and C programs would end the text there. The result is clean; a clean text is returned unchanged.
std::string clean_utf8(std::string_view text);

// The offset in `text` of what is at `offset` in clean_utf8(text).
std::size_t offset_before_cleaning(std::string_view text, std::size_t offset);

// Replaces "a" to "z" by "A" to "Z"; everything else stays unchanged.
std::string in_capitals(std::string text);

}  // namespace stepscope
