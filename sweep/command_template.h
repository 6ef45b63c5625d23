// A command with placeholders: {batch} stands for the value of the parameter of that name, {{ and
// }} for braces.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope {

class CommandTemplate {
 public:
  // Errors: kUsage (a brace without its partner).
  static Result<CommandTemplate> parse(const std::vector<std::string>& words);

  [[nodiscard]] const std::set<std::string>& placeholders() const { return placeholders_; }
  // `values` must have all placeholders.
  [[nodiscard]] std::vector<std::string> fill(
      const std::map<std::string, std::string>& values) const;

 private:
  struct Piece {
    std::string text;  // or the name of a placeholder
    bool placeholder = false;
  };
  using Word = std::vector<Piece>;
  static Result<Word> parse_word(const std::string& text);

  std::vector<Word> words_;
  std::set<std::string> placeholders_;
};

}  // namespace stepscope
