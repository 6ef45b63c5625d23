// The folder of libstepscope.so, which locates its companions.
#pragma once

#include <filesystem>

namespace stepscope {

std::filesystem::path own_folder();

}  // namespace stepscope
