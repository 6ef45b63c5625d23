#include "profiler/cupti/cupti_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <system_error>

#include "profiler/process/loaded_libraries.h"
#include "profiler/process/loaded_torch.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

void add_libraries_in(const fs::path& folder, std::vector<fs::path>& places) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().filename().string().starts_with("libcupti.so")) found.push_back(entry.path());
  }
  std::ranges::sort(found, std::greater<>());  // libcupti.so.13 before libcupti.so
  places.insert(places.end(), found.begin(), found.end());
}

// The folders of the PyPI packages, beside site-packages/torch/lib: site-packages/nvidia/cu13/lib
// and cuda_cupti/lib.
void add_torchs_own(std::vector<fs::path>& places) {
  const auto torch = find_loaded_torch();
  if (!torch) return;
  const fs::path lib = fs::path(torch->path).parent_path();
  add_libraries_in(lib, places);
  std::error_code none;
  const fs::path packages = fs::weakly_canonical(lib, none).parent_path().parent_path() / "nvidia";
  for (const auto& package : fs::directory_iterator(packages, none)) {
    add_libraries_in(package.path() / "lib", places);
  }
}

void add_toolkits(std::vector<fs::path>& places) {
  std::vector<fs::path> toolkits;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* folder = std::getenv(variable)) toolkits.emplace_back(folder);
  }
  toolkits.emplace_back("/usr/local/cuda");
  for (const fs::path& toolkit : toolkits) {
    add_libraries_in(toolkit / "extras/CUPTI/lib64", places);
    add_libraries_in(toolkit / "targets/x86_64-linux/lib", places);
    add_libraries_in(toolkit / "lib64", places);
  }
}

// Grows with each loaded library. Callers search again only when it has grown: to walk through
// hundreds of libraries takes too long for every step.
unsigned long long libraries_ever_loaded() {
  unsigned long long count = 0;
  const auto take_first = [](dl_phdr_info* info, std::size_t, void* result) {
    *static_cast<unsigned long long*>(result) = info->dlpi_adds;
    return 1;
  };
  dl_iterate_phdr(take_first, &count);
  return count;
}

}  // namespace

bool cuda_is_in_use() {
  static std::atomic<unsigned long long> looked_through{0};
  const unsigned long long loaded = libraries_ever_loaded();
  if (loaded == looked_through.load(std::memory_order_relaxed)) return false;
  // Not dlopen() with RTLD_NOLOAD: where the library is not loaded, that looks for its file in
  // every folder that the loader knows, which takes milliseconds in the first step with ops.
  if (!loaded_library_path("libcuda.so").empty()) return true;
  looked_through.store(loaded, std::memory_order_relaxed);
  return false;
}

std::vector<fs::path> cupti_places() {
  std::vector<fs::path> places;
  const std::string loaded = loaded_library_path("libcupti.so");
  if (!loaded.empty()) places.emplace_back(loaded);
  add_torchs_own(places);
  add_toolkits(places);
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"}) {
    places.emplace_back(name);
  }
  return places;
}

Result<CuptiLibrary> load_cupti() {
  for (const fs::path& place : cupti_places()) {
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    return find_cupti_functions(library, place);
  }
  return Status::error(ErrorKind::kUnavailable,
                       "no libcupti beside libtorch or in a CUDA toolkit (`stepscope doctor` says "
                       "how to get one)");
}

}  // namespace stepscope
