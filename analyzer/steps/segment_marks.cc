#include "analyzer/steps/segment_marks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

namespace stepscope {
namespace {

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::optional<SegmentKind> segment_of_scope(std::string_view name) {
  constexpr std::array<std::string_view, 9> kEvaluation = {"eval",       "evaluate", "evaluation",
                                                           "val",        "valid",    "validate",
                                                           "validation", "test",     "testing"};
  constexpr std::array<std::string_view, 5> kCheckpoint = {"checkpoint", "checkpoints", "ckpt",
                                                           "save_checkpoint", "torch.save"};
  std::string word;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalpha(letter) == 0 && c != '.' && c != '_') break;
    word += static_cast<char>(std::tolower(letter));
  }
  if (is_one_of(word, kEvaluation)) return SegmentKind::kEvaluation;
  if (is_one_of(word, kCheckpoint)) return SegmentKind::kCheckpoint;
  return std::nullopt;
}

}  // namespace stepscope
