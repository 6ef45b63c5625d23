// Text that lines up in a terminal. wrap() first makes the text printable (analyzer/printable.h),
// since that changes its width.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/text_width.h"

namespace stepscope {

std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);
// Lines of at most `width` characters, broken at spaces, but not between a number and its unit.
std::vector<std::string> wrap(std::string_view raw, std::size_t width);
// `fraction` (0 to 1) of `width` characters, in eighths of a character: "██▌".
std::string bar(double fraction, std::size_t width);

// All escape sequences of a page: ECMA-48's "select graphic rendition".
inline constexpr char kBold[] = "\033[1m", kRed[] = "\033[1;31m", kYellow[] = "\033[1;33m",
                      kGreen[] = "\033[1;32m", kDim[] = "\033[2m", kPlain[] = "\033[0m";
inline constexpr std::array<std::string_view, 6> kColorCodes = {kBold,  kRed, kYellow,
                                                                kGreen, kDim, kPlain};

// Escape sequences, or nothing if colours are off.
struct Palette {
  bool on = false;
  [[nodiscard]] std::string bold(const std::string& text) const { return wrap_in(kBold, text); }
  [[nodiscard]] std::string red(const std::string& text) const { return wrap_in(kRed, text); }
  [[nodiscard]] std::string yellow(const std::string& text) const { return wrap_in(kYellow, text); }
  [[nodiscard]] std::string green(const std::string& text) const { return wrap_in(kGreen, text); }
  [[nodiscard]] std::string dim(const std::string& text) const { return wrap_in(kDim, text); }

 private:
  [[nodiscard]] std::string wrap_in(const char* code, const std::string& text) const {
    return on ? code + text + kPlain : text;
  }
};

// The name of a kernel (or of anything else) without the "void" that templates begin with, which
// takes space and says nothing.
std::string kernel_title(const std::string& name);

}  // namespace stepscope
