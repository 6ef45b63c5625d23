// The versions of Python and NumPy that a program has loaded, found from outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {

// Rows of the store's `meta`: `python_version` ("3.11.2", or only "3.11" if no more is known) and
// `numpy_version`, if process `pid` has loaded them. Reads its list of mapped files and the folders
// that contain them; takes about a millisecond.
std::vector<std::pair<std::string, std::string>> loaded_versions(std::int64_t pid);

// The same from such a list, the text of /proc/PID/maps.
std::vector<std::pair<std::string, std::string>> versions_in_maps(const std::string& maps);

}  // namespace stepscope
