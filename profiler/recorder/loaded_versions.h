// The versions of what a Python program has loaded, from outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {

// Rows of the store's `meta`: `python_version` ("3.11.2"; "3.11" where only that shows) and
// `numpy_version`, for those that process `pid` has loaded. Reads its list of mapped files and the
// folders they lie in: about a millisecond.
std::vector<std::pair<std::string, std::string>> loaded_versions(std::int64_t pid);

// The same of such a list: the text of /proc/PID/maps.
std::vector<std::pair<std::string, std::string>> versions_in_maps(const std::string& maps);

}  // namespace stepscope
