#include "samples/cpp/encoder/tokenizer.h"

#include <algorithm>

namespace encoder {

Tokenizer::Tokenizer(const std::vector<std::string>& words,
                     const std::vector<std::string>& pieces) {
  const auto add = [this](Ids& ids, const std::string& text) {
    if (ids.emplace(text, next_).second) ++next_;
  };
  for (const std::string& word : words) add(first_, word);
  for (const std::string& piece : pieces) {
    add(first_, piece);
    add(inside_, piece);
  }
}

Tokenizer::Ids::const_iterator Tokenizer::longest_prefix(const Ids& ids, std::string_view text) {
  for (std::size_t length = text.size(); length > 0; --length) {
    const auto found = ids.find(text.substr(0, length));
    if (found != ids.end()) return found;
  }
  return ids.end();
}

void Tokenizer::encode_word(std::string_view word, std::vector<TokenId>& tokens) const {
  const std::size_t before = tokens.size();
  const Ids* ids = &first_;
  while (!word.empty()) {
    const auto piece = longest_prefix(*ids, word);
    if (piece == ids->end()) {
      tokens.resize(before);
      tokens.push_back(kUnknown);
      return;
    }
    tokens.push_back(piece->second);
    word.remove_prefix(piece->first.size());
    ids = &inside_;
  }
}

std::vector<TokenId> Tokenizer::encode(std::string_view sentence, std::size_t most) const {
  std::vector<TokenId> tokens{kClassify};
  while (!sentence.empty()) {
    const std::size_t end = std::min(sentence.find(' '), sentence.size());
    encode_word(sentence.substr(0, end), tokens);
    sentence.remove_prefix(std::min(end + 1, sentence.size()));
  }
  tokens.resize(std::min(tokens.size(), most - 1));
  tokens.push_back(kSeparate);
  return tokens;
}

}  // namespace encoder
