// The libtorch in this process.
#pragma once

#include <optional>
#include <string>

namespace stepscope {

struct LoadedTorch {
  std::string path;     // of libtorch_cpu.so
  std::string version;  // "2.13.0"; empty if unknown
};

// The path of the libtorch in this process: libtorch_cpu.so, libtorch_cpu-1a2b3c4d.so (its name in
// repaired wheels), or another library that exports at::show_config(); empty: there is none.
std::string loaded_torch_path();

// Whether this process has a libtorch; its constructors may not have run yet. Also false if memory
// for the check runs out.
bool torch_is_in_process() noexcept;

// The libtorch that is loaded into this process; nothing if there is none.
std::optional<LoadedTorch> find_loaded_torch();

// The address of a symbol in the libtorch of this process, even if loaded with RTLD_LOCAL (as
// Python does); nullptr if it has no such symbol.
void* find_torch_symbol(const char* mangled_name);

}  // namespace stepscope
