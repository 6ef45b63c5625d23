// The page and the JSON document of `stepscope doctor`.
#pragma once

#include <string>

#include "present/terminal_text.h"
#include "profiler/doctor/doctor.h"

namespace stepscope {

std::string doctor_text(const Diagnosis& diagnosis, const Palette& palette);
std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace stepscope
