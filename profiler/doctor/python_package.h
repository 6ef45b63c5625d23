// Asks a Python for the place of a package, and for its version.
#pragma once

#include <string>

namespace stepscope {

// The folder of `package` as `python` (a program, found in PATH) would import it; empty where it
// has none. Does not import the package, which may take seconds, and ignores the working folder,
// which is not trusted: nothing in it is found or run.
std::string python_package_folder(const std::string& python, const std::string& package);

// "3.11"; "pypy 3.11" or "3.14 without the GIL" if it is no usual CPython; empty if it does not
// say.
std::string python_version(const std::string& python);

}  // namespace stepscope
