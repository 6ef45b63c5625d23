// Checks what recording an NVIDIA GPU needs. Looks for files; only CUPTI is also loaded, in a child
// process.
#pragma once

#include <filesystem>
#include <vector>

#include "profiler/doctor/find_torch.h"
#include "profiler/doctor/finding.h"

namespace stepscope {

// `root` is /, except in tests. All findings are kOk or kNote, because a machine without a GPU
// lacks nothing. Thread safety: that of try_cupti().
Findings check_gpu(const std::filesystem::path& root, const std::vector<TorchInstall>& torches);

}  // namespace stepscope
