// The manual page, in the language of man(7), of the same text as --help.
#pragma once

#include <string>

#include "cli/described_verbs.h"

namespace stepscope::cli {

std::string man_page(const DescribedProgram& program, const std::string& version);

}  // namespace stepscope::cli
