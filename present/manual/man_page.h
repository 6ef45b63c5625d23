// The manual page in the language of man(7), with the same text as --help.
#pragma once

#include <string>

#include "present/manual/described_verbs.h"

namespace stepscope {

std::string man_page(const DescribedProgram& program, const std::string& version);

}  // namespace stepscope
