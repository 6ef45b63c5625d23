// Calls of CUDA that only ask or set something on the host: cudaGetDevice, cudaGetLastError.
#pragma once

#include <string_view>

namespace stepscope {

// `name` is CUPTI's: "cudaGetDevice_v3020". On a training step of ResNet-50, PyTorch makes 14 of
// these calls for each launch (bench/results/h200-gpu.json). Recording them takes longer than
// they do, and they launch nothing and wait for nothing.
bool is_query_call(std::string_view name);

}  // namespace stepscope
