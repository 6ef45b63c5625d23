// The facts that a recording stores about its command: rows of the store's `meta`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "profiler/identity/job_identity.h"

namespace stepscope {

// Keys `program` and `arguments` of a command, program first.
std::vector<std::pair<std::string, std::string>> program_meta(
    const std::vector<std::string>& words);

// Keys `program`, `arguments`, `working_folder` and `environment` of this process, and those of
// identity_meta().
std::vector<std::pair<std::string, std::string>> run_meta();

// The identity of this process, and of another one, according to its environment at the start.
JobIdentity own_identity();
JobIdentity identity_of_process(std::int64_t pid);

// The folders that may contain the source of a command: its script's, then the working folder of
// this process.
std::vector<std::filesystem::path> source_folders(const std::vector<std::string>& words);
// The same for this process.
std::vector<std::filesystem::path> own_source_folders();

}  // namespace stepscope
