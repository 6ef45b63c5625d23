// A command as words, as a shell has them.
#pragma once

#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope {

// Joined by spaces, for people: not quoted.
std::string command_line(const std::vector<std::string>& words);

// The words of a command that is one text: blanks part them, '…' and "…" hold them together, a
// backslash takes the next character as it is. Variables, globs and operators mean nothing here.
// Errors: kUsage (a quote without its end).
Result<std::vector<std::string>> shell_words(const std::string& text);

}  // namespace stepscope
