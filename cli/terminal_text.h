// Text that lines up in a terminal: widths are counted in characters, not bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::cli {

std::size_t width_of(std::string_view utf8);
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);
// At most `width` characters; what is cut off ends in "…". Control characters become '?'.
std::string cut(std::string_view text, std::size_t width);
// Lines of at most `width` characters, broken at spaces, but not between a number and its unit.
std::vector<std::string> wrap(std::string_view text, std::size_t width);
// `fraction` (0 to 1) of `width` characters, in eighths of a character: "██▌".
std::string bar(double fraction, std::size_t width);

// Standard output is a terminal, and its user has not asked for none (https://no-color.org).
bool stdout_wants_color();

// Escape sequences, or nothing where they are not wanted.
struct Palette {
  bool on = false;
  [[nodiscard]] std::string bold(const std::string& text) const { return wrap_in("\033[1m", text); }
  [[nodiscard]] std::string red(const std::string& text) const {
    return wrap_in("\033[1;31m", text);
  }
  [[nodiscard]] std::string yellow(const std::string& text) const {
    return wrap_in("\033[1;33m", text);
  }
  [[nodiscard]] std::string green(const std::string& text) const {
    return wrap_in("\033[1;32m", text);
  }
  [[nodiscard]] std::string dim(const std::string& text) const { return wrap_in("\033[2m", text); }

 private:
  [[nodiscard]] std::string wrap_in(const char* code, const std::string& text) const {
    return on ? code + text + "\033[0m" : text;
  }
};

// The name of a kernel (or of anything else) without the "void" that templates begin with, which
// takes room and tells nothing.
std::string kernel_title(const std::string& name);

}  // namespace stepscope::cli
