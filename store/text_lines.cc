#include "store/text_lines.h"

#include <utility>

namespace stepscope {

std::string join_lines(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) {
    for (const char c : text) {
      if (c == '\\') {
        joined += "\\\\";
      } else if (c == '\n') {
        joined += "\\n";
      } else {
        joined += c;
      }
    }
    joined += '\n';
  }
  return joined;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> texts;
  std::string current;
  bool open = false;  // a text has begun
  for (std::size_t at = 0; at < text.size(); ++at) {
    open = text[at] != '\n';
    if (!open) {
      texts.push_back(std::move(current));
      current.clear();
    } else if (text[at] == '\\' && at + 1 < text.size()) {
      const char next = text[++at];
      current += next == 'n' ? '\n' : next;
    } else {
      current += text[at];
    }
  }
  if (open) texts.push_back(std::move(current));
  return texts;
}

}  // namespace stepscope
