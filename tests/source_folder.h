// Where the project's sources are.
#pragma once

#include <filesystem>

namespace stepscope::testing {

// Absolute, as it was when the tests were compiled.
std::filesystem::path source_folder();

}  // namespace stepscope::testing
