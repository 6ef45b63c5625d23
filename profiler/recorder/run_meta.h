// What a recording states about the command that was run: rows of the store's `meta`.
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

// Of this process, and of another: as it was started.
JobIdentity own_identity();
JobIdentity identity_of_process(std::int64_t pid);

// Where the source of a command may lie: the folder of its script, then this process's.
std::vector<std::filesystem::path> source_folders(const std::vector<std::string>& words);
// The same of this process.
std::vector<std::filesystem::path> own_source_folders();

}  // namespace stepscope
