// The shared libraries of this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// The files of the libraries in this process, in load order.
std::vector<std::string> loaded_library_paths();

// The path of a library in this process whose file name begins with `prefix`; empty: there is none.
std::string loaded_library_path(std::string_view prefix);

}  // namespace stepscope
