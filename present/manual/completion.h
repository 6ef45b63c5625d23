// Scripts that complete the command line in a shell.
#pragma once

#include <string>

#include "present/manual/described_verbs.h"

namespace stepscope {

// `shell`: bash, zsh or fish; for any other, the result is empty. The script completes verbs,
// options and their choices, otherwise files; after --, programs.
std::string completion(const DescribedProgram& program, const std::string& shell);

}  // namespace stepscope
