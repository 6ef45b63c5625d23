#include "viewer-export/report/script_data.h"

namespace stepscope {
namespace {

// "\u2028" and "\u2029" in UTF-8: this and one more byte.
constexpr std::string_view kSeparatorStart = "\xe2\x80";

std::string_view separator_escape(std::string_view rest) {
  if (rest.size() < 3 || !rest.starts_with(kSeparatorStart)) return {};
  if (rest[2] == '\xa8') return "\\u2028";
  return rest[2] == '\xa9' ? "\\u2029" : std::string_view();
}

}  // namespace

std::string script_data(std::string_view json) {
  std::string safe;
  safe.reserve(json.size() + json.size() / 64);
  for (std::size_t i = 0; i < json.size(); ++i) {
    // Outside strings, JSON has neither of these characters.
    if (json[i] == '<') {
      safe += "\\u003c";
    } else if (const auto escape = separator_escape(json.substr(i)); !escape.empty()) {
      safe += escape;
      i += 2;
    } else {
      safe += json[i];
    }
  }
  return safe;
}

}  // namespace stepscope
