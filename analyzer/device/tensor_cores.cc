#include "analyzer/device/tensor_cores.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace stepscope {
namespace {

// In lower case.
constexpr std::array<std::string_view, 9> kMatrixWords = {
    "hmma", "imma", "bmma", "dmma", "qmma", "wgmma", "tcgen05", "tensorop", "tensor16x8"};
constexpr std::array<std::string_view, 2> kScalarWords = {"simt", "ffma"};

// Shapes, m n k in a row: 8×8×4 of Volta, 16×8×8 of Turing, 16×8×16 of Ampere, …
constexpr std::array<std::string_view, 10> kShapes = {"884",   "1684",  "1688",  "8816",  "8832",
                                                      "16816", "16832", "16864", "88128", "161616"};
constexpr std::string_view kAccumulators = "hsdcziefb";  // "s1688": sums in single precision

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Whether `name` contains `word` at its beginning or after a character that is not a letter, so
// that "pragmma" does not match.
bool has_word(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos;
       at = name.find(word, at + 1)) {
    if (at == 0 || !is_letter(name[at - 1])) return true;
  }
  return false;
}

template <std::size_t kSize>
bool has_any_word(std::string_view name, const std::array<std::string_view, kSize>& words) {
  return std::any_of(words.begin(), words.end(),
                     [name](std::string_view word) { return has_word(name, word); });
}

// "s1688gemm", "h884cudnn", "s16816fprop": one letter, the shape, then no digit. This excludes the
// "s884" in "…_pass884_…" and tile sizes.
bool has_shape(std::string_view name) {
  for (std::size_t at = 1; at < name.size(); ++at) {
    if (!is_digit(name[at]) || kAccumulators.find(name[at - 1]) == std::string_view::npos) continue;
    if (at >= 2 && is_letter(name[at - 2])) continue;
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    const std::string_view digits = name.substr(at, end - at);
    if (std::find(kShapes.begin(), kShapes.end(), digits) != kShapes.end()) return true;
  }
  return false;
}

// "cutlass::arch::OpClassTensorOp" contains the class within a longer word.
bool has_class(std::string_view name, std::string_view op_class) {
  return name.find(op_class) != std::string_view::npos;
}

}  // namespace

std::optional<bool> uses_tensor_cores(std::string_view kernel) {
  std::string name(kernel);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (has_any_word(name, kMatrixWords) || has_shape(name) || has_class(name, "opclasstensorop") ||
      has_class(name, "opclasswmmatensorop"))
    return true;
  if (has_any_word(name, kScalarWords) || has_class(name, "opclasssimt")) return false;
  return std::nullopt;
}

}  // namespace stepscope
