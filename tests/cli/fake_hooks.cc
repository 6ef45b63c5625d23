// What a hook library says to who loads it (profiler/hooks/hook_api.h), for libtorch 2.99.1.
#include <cstring>

#include "profiler/hook_api.h"

extern "C" __attribute__((visibility("default"))) const stepscope::HookApi* stepscope_torch_hooks(
    const char*, const char* torch_version, const char** error) {
  static constexpr stepscope::HookApi kHooks{};
  *error = "they were built for libtorch 2.99.1";
  return std::strcmp(torch_version, "2.99.1") == 0 ? &kHooks : nullptr;
}
