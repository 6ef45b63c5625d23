#include "sweep/command_words.h"

namespace stepscope {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// Reads one text from left to right.
class WordReader {
 public:
  explicit WordReader(const std::string& text) : text_(text) {}

  // False: no more words.
  bool next(std::string& word) {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ == text_.size()) return false;
    word.clear();
    while (at_ < text_.size() && !is_blank(text_[at_])) take(word);
    return true;
  }
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  void take(std::string& word) {
    const char c = text_[at_++];
    if (c == '\'' || c == '"') {
      take_quoted(c, word);
    } else if (c == '\\' && at_ < text_.size()) {
      word += text_[at_++];
    } else {
      word += c;
    }
  }

  void take_quoted(char quote, std::string& word) {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == quote) {
        ++at_;
        return;
      }
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      // Between double quotes, a backslash is literal unless it precedes a quote or a backslash.
      const bool protects = quote == '"' && c == '\\' && (next == '"' || next == '\\');
      if (protects) ++at_;
      word += text_[at_];
    }
    broken_ = true;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  bool broken_ = false;
};

}  // namespace

std::string command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

Result<std::vector<std::string>> shell_words(const std::string& text) {
  std::vector<std::string> words;
  WordReader reader(text);
  for (std::string word; reader.next(word);) words.push_back(word);
  if (!reader.broken()) return words;
  return Status::error(ErrorKind::kUsage, "\"" + text + "\": a quote is not closed");
}

}  // namespace stepscope
