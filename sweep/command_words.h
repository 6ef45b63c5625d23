// Splits a command into words, like a shell.
#pragma once

#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope {

// Joined by spaces, for people: not quoted.
std::string command_line(const std::vector<std::string>& words);

// The words of a command: blanks separate them, '…' and "…" quote, and a backslash makes the next
// character literal. Variables, globs and operators have no meaning. Errors: kUsage (a quote that
// is not closed).
Result<std::vector<std::string>> shell_words(const std::string& text);

}  // namespace stepscope
