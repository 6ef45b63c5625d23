// Asks a Python where a package is, and for its own version.
#pragma once

#include <string>

namespace stepscope {

// The folder from which `python` (a program, found in PATH) would import `package`; empty if there
// is none. Does not import the package, which may take seconds. Ignores the working folder, which
// is not trusted: nothing in it is found or run.
std::string python_package_folder(const std::string& python, const std::string& package);

// "3.11"; "pypy 3.11" or "3.14 without the GIL" if it is not an ordinary CPython; empty if unknown.
std::string python_version(const std::string& python);

}  // namespace stepscope
