#include "profiler/process/loaded_torch.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/process/loaded_libraries.h"

namespace stepscope {
namespace {

// RTLD_NOLOAD: never loads a library, only finds one that is loaded.
void* torch_handle(const std::string& path) {
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

constexpr const char* kShowConfig = "_ZN2at11show_configB5cxx11Ev";
constexpr const char* kOldShowConfig = "_ZN2at11show_configEv";

std::string_view file_name(const std::string& path) {
  return std::string_view(path).substr(path.rfind('/') + 1);
}

bool is_named_like_torch(const std::string& path) {
  constexpr std::string_view stem = "libtorch_cpu";
  const std::string_view file = file_name(path);
  return file.starts_with(stem) && file.size() > stem.size() &&
         (file[stem.size()] == '.' || file[stem.size()] == '-');
}

// Whether the library itself exports it, not one of those it was linked against.
bool exports_torch(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  void* symbol = dlsym(library, kShowConfig);
  if (symbol == nullptr) symbol = dlsym(library, kOldShowConfig);
  Dl_info info{};
  const bool exported = symbol != nullptr && dladdr(symbol, &info) != 0 && path == info.dli_fname;
  dlclose(library);
  return exported;
}

// A string in memory that libtorch allocated. Our own operator delete is that of the C++ library
// that libstepscope brings; the program's, which libtorch calls, may be another.
class TorchString {
 public:
  TorchString(void* torch, std::string (*make)()) : torch_(torch) {
    new (&text_) std::string(make());
  }
  ~TorchString() {
    if (is_allocated()) free(text_.data());
  }
  TorchString(const TorchString&) = delete;
  TorchString& operator=(const TorchString&) = delete;

  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  [[nodiscard]] bool is_allocated() const {
    const auto* const text = reinterpret_cast<const std::byte*>(text_.data());
    const auto* const object = reinterpret_cast<const std::byte*>(&text_);
    return text < object || text >= object + sizeof(text_);
  }

  // As the dynamic linker finds it for libtorch: globally first, then, as in Python, among the
  // libraries that libtorch was loaded with.
  void free(void* memory) const {
    constexpr const char* kOperatorDelete = "_ZdlPv";
    void* symbol = dlsym(RTLD_DEFAULT, kOperatorDelete);
    if (symbol == nullptr) symbol = dlsym(torch_, kOperatorDelete);
    if (symbol != nullptr) reinterpret_cast<void (*)(void*)>(symbol)(memory);
  }

  void* torch_;
  union {
    std::string text_;
  };
};

// at::show_config() names the build's settings, TORCH_VERSION among them, in every libtorch
// since 1.8. Libraries built with the old std::string (PyPI wheels up to 2.6) export it under
// another name. Their string is one pointer to the characters. We do not free it, because we cannot
// call its code.
std::string build_settings(void* torch) {
  if (void* symbol = dlsym(torch, kShowConfig)) {
    return std::string(TorchString(torch, reinterpret_cast<std::string (*)()>(symbol)).text());
  }
  using OldShowConfig = void (*)(void* result);
  void* symbol = dlsym(torch, kOldShowConfig);
  if (symbol == nullptr) return {};
  const char* text = nullptr;
  reinterpret_cast<OldShowConfig>(symbol)(static_cast<void*>(&text));
  return text;
}

std::string version_in(const std::string& settings) {
  constexpr std::string_view key = "TORCH_VERSION=";
  const std::size_t at = settings.find(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  return settings.substr(begin, settings.find_first_of(", \n", begin) - begin);
}

}  // namespace

std::string loaded_torch_path() {
  std::vector<std::string> paths = loaded_library_paths();
  const auto by_name = std::ranges::find_if(paths, is_named_like_torch);
  if (by_name != paths.end()) return std::move(*by_name);
  const auto by_symbol = std::ranges::find_if(paths, exports_torch);
  return by_symbol == paths.end() ? std::string() : std::move(*by_symbol);
}

bool torch_is_in_process() noexcept try { return !loaded_torch_path().empty(); } catch (...) {
  return false;
}

std::optional<LoadedTorch> find_loaded_torch() {
  const std::string path = loaded_torch_path();
  void* torch = torch_handle(path);
  if (torch == nullptr) return std::nullopt;
  return LoadedTorch{path, version_in(build_settings(torch))};
}

void* find_torch_symbol(const char* mangled_name) {
  void* torch = torch_handle(loaded_torch_path());
  return torch == nullptr ? nullptr : dlsym(torch, mangled_name);
}

}  // namespace stepscope
