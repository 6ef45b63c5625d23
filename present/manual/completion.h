// Scripts that complete the command line in a shell.
#pragma once

#include <string>

#include "present/manual/described_verbs.h"

namespace stepscope {

// `shell`: bash, zsh or fish; else empty. Words are completed to verbs, options and their choices,
// else to files; after -- to a program.
std::string completion(const DescribedProgram& program, const std::string& shell);

}  // namespace stepscope
