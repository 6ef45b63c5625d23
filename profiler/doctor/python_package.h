// Where a Python has a package.
#pragma once

#include <string>

namespace stepscope {

// The folder of `package` as `python` (a program, found in PATH) would import it; empty where it
// has none. The package is not imported, which may take seconds, and the working folder, which may
// be anybody's, is not looked at: nothing in it is run or found.
std::string python_package_folder(const std::string& python, const std::string& package);

}  // namespace stepscope
