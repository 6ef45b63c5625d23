// Whether a libcupti loads and is one that device work can be recorded with.
#pragma once

#include <filesystem>
#include <string>

namespace stepscope {

struct CuptiTrial {
  std::string version;  // "API version 130001"; "" when it does not load
  std::string why;      // it is of no use; empty: it is
};

// Loads it in a child process. `with_driver`: a driver is there, so that the lengths of its records
// can be asked for too (from CUPTI 13.5 on they are not told without). Thread safety: forks, so
// only while the process has one thread.
CuptiTrial try_cupti(const std::filesystem::path& library, bool with_driver);

}  // namespace stepscope
