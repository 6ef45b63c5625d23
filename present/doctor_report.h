// The page and the JSON document of `stepscope doctor`.
#pragma once

#include <string>

#include "present/terminal_text.h"
#include "profiler/doctor/finding.h"

namespace stepscope {

std::string doctor_text(const Findings& findings, const Palette& palette);
std::string doctor_json(const Findings& findings);

}  // namespace stepscope
