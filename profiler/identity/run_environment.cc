#include "profiler/identity/run_environment.h"

#include <algorithm>
#include <iterator>

#include "profiler/identity/job_variables.h"

namespace stepscope {
namespace {

constexpr std::string_view kNames[] = {"CUBLAS_WORKSPACE_CONFIG", "LD_PRELOAD",
                                       "LOCAL_WORLD_SIZE",        "NUMEXPR_NUM_THREADS",
                                       "NVIDIA_TF32_OVERRIDE",    "NVIDIA_VISIBLE_DEVICES",
                                       "OPENBLAS_NUM_THREADS"};
constexpr std::string_view kStems[] = {"CUDA_", "CUDNN_", "GOMP_", "KMP_",     "MALLOC_",
                                       "MKL_",  "NCCL_",  "OMP_",  "PYTORCH_", "TORCH_"};
constexpr std::string_view kSecrets[] = {"AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"};

constexpr std::size_t kLongestValue = 1024;  // bytes

}  // namespace

bool is_recorded_variable(std::string_view name) {
  const auto is_in = [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  const auto begins = [&](std::string_view stem) { return name.starts_with(stem); };
  if (std::any_of(std::begin(kSecrets), std::end(kSecrets), is_in)) return false;
  const auto is_of_a_job = [&](const JobVariable& row) { return name == row.name; };
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::any_of(std::begin(kJobVariables), std::end(kJobVariables), is_of_a_job) ||
         std::any_of(std::begin(kStems), std::end(kStems), begins);
}

std::vector<std::string> recorded_environment(const char* const* variables) {
  std::vector<std::string> recorded;
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable(*variables);
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos || !is_recorded_variable(variable.substr(0, equals)))
      continue;
    recorded.emplace_back(variable.substr(0, equals + 1 + kLongestValue));
  }
  std::sort(recorded.begin(), recorded.end());
  return recorded;
}

}  // namespace stepscope
