// Where libstepscope.so lies: its companions are found from there.
#pragma once

#include <filesystem>

namespace stepscope {

std::filesystem::path own_folder();

}  // namespace stepscope
