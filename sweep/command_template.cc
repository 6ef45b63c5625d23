#include "sweep/command_template.h"

namespace stepscope {
namespace {

Status lone_brace(const std::string& word) {
  return Status::error(ErrorKind::kUsage,
                       "\"" + word + "\": unmatched brace; write {{ and }} for literal braces");
}

}  // namespace

Result<CommandTemplate::Word> CommandTemplate::parse_word(const std::string& text) {
  Word word;
  std::string plain;
  const auto end_plain = [&] {
    if (!plain.empty()) word.push_back({plain, false});
    plain.clear();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool doubled = at + 1 < text.size() && text[at + 1] == c;
    if (c != '{' && c != '}') {
      plain += c;
    } else if (doubled) {
      plain += c;
      ++at;
    } else {
      const std::size_t close = text.find_first_of("{}", at + 1);
      if (c == '}' || close == std::string::npos || text[close] == '{') return lone_brace(text);
      end_plain();
      word.push_back({text.substr(at + 1, close - at - 1), true});
      at = close;
    }
  }
  end_plain();
  return word;
}

Result<CommandTemplate> CommandTemplate::parse(const std::vector<std::string>& words) {
  CommandTemplate result;
  for (const std::string& text : words) {
    auto word = parse_word(text);
    if (!word.ok()) return word.status();
    for (const Piece& piece : *word) {
      if (piece.placeholder) result.placeholders_.insert(piece.text);
    }
    result.words_.push_back(*std::move(word));
  }
  return result;
}

std::vector<std::string> CommandTemplate::fill(
    const std::map<std::string, std::string>& values) const {
  std::vector<std::string> filled;
  for (const Word& word : words_) {
    std::string text;
    for (const Piece& piece : word) text += piece.placeholder ? values.at(piece.text) : piece.text;
    filled.push_back(text);
  }
  return filled;
}

}  // namespace stepscope
