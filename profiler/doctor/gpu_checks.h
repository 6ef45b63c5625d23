// Checks what recording an NVIDIA GPU needs. Only looks for files: loads nothing.
#pragma once

#include <filesystem>
#include <vector>

#include "profiler/doctor/find_torch.h"
#include "profiler/doctor/finding.h"

namespace stepscope {

// `root` is /, except in tests. All findings are kOk or kNote: without a GPU there is nothing to
// miss.
Findings check_gpu(const std::filesystem::path& root, const std::vector<TorchInstall>& torches);

}  // namespace stepscope
