// Finds a package of a Python.
#pragma once

#include <string>

namespace stepscope {

// The folder of `package` as `python` (a program, found in PATH) would import it; empty where it
// has none. Does not import the package, which may take seconds, and ignores the working folder,
// which is not trusted: nothing in it is found or run.
std::string python_package_folder(const std::string& python, const std::string& package);

}  // namespace stepscope
