// Checks whether a libcupti loads and can record device work.
#pragma once

#include <filesystem>
#include <string>

namespace stepscope {

struct CuptiTrial {
  std::string version;  // "API version 130001"; "" if it does not load
  std::string why;      // why it is unusable; empty: usable
};

// Loads it in a child process. `with_driver`: a driver is available, so that the record lengths can
// be queried, too (since CUPTI 13.5 this needs a driver). Thread safety: forks, so only while the
// process has one thread.
CuptiTrial try_cupti(const std::filesystem::path& library, bool with_driver);

}  // namespace stepscope
