// Which of the ranks of a distributed run the others wait for, in words.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

std::string ranks_sentence(const RankReport& report);

}  // namespace stepscope
