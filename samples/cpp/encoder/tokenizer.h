// A WordPiece tokenizer: splits a word missing from the vocabulary into the longest known pieces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace encoder {

using TokenId = std::int64_t;
inline constexpr TokenId kPad = 0;
inline constexpr TokenId kUnknown = 1;
inline constexpr TokenId kClassify = 2;  // the first token of a sentence
inline constexpr TokenId kSeparate = 3;  // the last

// Thread safety: const after construction.
class Tokenizer {
 public:
  // Knows `words` as whole words, and `pieces` both at the beginning of a word and inside it.
  Tokenizer(const std::vector<std::string>& words, const std::vector<std::string>& pieces);

  // The sentence's tokens between kClassify and kSeparate; spaces separate words. A word that
  // cannot be spelled from pieces is one kUnknown. At most `most` tokens: the rest is cut.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view sentence, std::size_t most) const;

  [[nodiscard]] TokenId vocabulary_size() const { return next_; }

 private:
  // Allows lookups by string_view without a copy.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Ids = std::unordered_map<std::string, TokenId, Hash, std::equal_to<>>;

  void encode_word(std::string_view word, std::vector<TokenId>& tokens) const;
  [[nodiscard]] static Ids::const_iterator longest_prefix(const Ids& ids, std::string_view text);

  Ids first_;   // at the beginning of a word
  Ids inside_;  // after it
  TokenId next_ = kSeparate + 1;
};

}  // namespace encoder
