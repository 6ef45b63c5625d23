// The folder of libstepscope.so, from which its companion libraries are found.
#pragma once

#include <filesystem>

namespace stepscope {

std::filesystem::path own_folder();

}  // namespace stepscope
