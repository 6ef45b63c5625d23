// The libtorch in this process.
#pragma once

#include <optional>
#include <string>

namespace stepscope {

struct LoadedTorch {
  std::string path;     // of libtorch_cpu.so
  std::string version;  // "2.13.0"; empty when it could not be told
};

// The path of the libtorch in this process: libtorch_cpu.so, or libtorch_cpu-1a2b3c4d.so, as
// repaired wheels call it, or whatever exports at::show_config(); empty: there is none.
std::string loaded_torch_path();

// Whether there is one; its constructors may not have run yet. Also false when there is no memory
// to check.
bool torch_is_in_process() noexcept;

// The libtorch that is loaded into this process; nothing when there is none.
std::optional<LoadedTorch> find_loaded_torch();

// An address in the libtorch of this process, also when it was loaded RTLD_LOCAL (as Python
// does); nullptr when it is not there.
void* find_torch_symbol(const char* mangled_name);

}  // namespace stepscope
