#include "profiler/doctor/find_torch.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>

#include "profiler/doctor/python_package.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Debian keeps libraries in a folder named after the architecture.
fs::path library_below(const fs::path& root) {
  const fs::path name = "libtorch_cpu.so";
  for (const fs::path& folder : {root / "lib", root / "lib64"}) {
    if (is_there(folder / name)) return folder / name;
  }
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root / "lib", none)) {
    const bool of_architecture = entry.path().string().ends_with("-linux-gnu");
    if (of_architecture && is_there(entry.path() / name)) return entry.path() / name;
  }
  return {};
}

// The number after "#define TORCH_VERSION_MAJOR " and the like, as text.
std::string defined_number(const std::string& line, const std::string& macro) {
  const std::string start = "#define " + macro + " ";
  return line.starts_with(start)
             ? line.substr(start.size(), line.find_last_of("0123456789") + 1 - start.size())
             : "";
}

std::string version_in_header(const fs::path& header) {
  std::ifstream file(header);
  std::string line, major, minor, patch;
  while (std::getline(file, line)) {
    if (const auto number = defined_number(line, "TORCH_VERSION_MAJOR"); !number.empty()) {
      major = number;
    } else if (const auto second = defined_number(line, "TORCH_VERSION_MINOR"); !second.empty()) {
      minor = second;
    } else if (const auto third = defined_number(line, "TORCH_VERSION_PATCH"); !third.empty()) {
      patch = third;
    }
  }
  return patch.empty() ? "" : major + "." + minor + "." + patch;
}

// torch/version.py has a line: __version__ = '2.13.0+cpu'. Debian's says '1.13.0a0', a nightly
// '2.16.0.dev20261101': libtorch itself reports only the numbers.
std::string version_in_python(const fs::path& file) {
  constexpr std::string_view start = "__version__ = '";
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(start)) continue;
    const std::string rest = line.substr(start.size());
    const std::string numbers = rest.substr(0, rest.find_first_not_of("0123456789."));
    return numbers.substr(0, numbers.find_last_not_of('.') + 1);
  }
  return {};
}

std::optional<TorchInstall> torch_at(const fs::path& root, const std::string& origin) {
  TorchInstall torch{root, library_below(root), {}, origin, false, false};
  if (torch.library.empty()) return std::nullopt;
  // The first file exists since 2.8.
  for (const char* header :
       {"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"}) {
    if (torch.version.empty()) torch.version = version_in_header(root / "include" / header);
  }
  torch.has_headers = !torch.version.empty();
  if (torch.version.empty()) torch.version = version_in_python(root / "version.py");
  return torch;
}

// Adds the libtorch at `root`, unless it is listed already. `use`: it is in use. Returns null if
// there is none.
TorchInstall* look_at(std::vector<TorchInstall>& found, const fs::path& root,
                      const std::string& origin, bool use) {
  if (root.empty()) return nullptr;
  auto torch = torch_at(root, origin);
  if (!torch) return nullptr;
  std::error_code ignored;
  const auto known = std::find_if(found.begin(), found.end(), [&](const TorchInstall& other) {
    return fs::equivalent(other.library, torch->library, ignored);
  });
  TorchInstall& listed = known == found.end() ? found.emplace_back(*torch) : *known;
  listed.is_used = listed.is_used || use;
  return &listed;
}

// Adds the libtorch that `python` imports.
bool look_at_python(std::vector<TorchInstall>& found, const std::string& python, bool use) {
  TorchInstall* const torch =
      look_at(found, python_package_folder(python, "torch"), "imported by " + python, use);
  if (torch != nullptr && torch->python.empty()) torch->python = python;
  return torch != nullptr;
}

// A prefix for PyTorch's own CMake files ends in share/cmake (torch.utils.cmake_prefix_path).
fs::path without_cmake_folder(const fs::path& prefix) {
  const fs::path folder = prefix.has_filename() ? prefix : prefix.parent_path();  // "/usr/"
  const bool names_it = folder.filename() == "cmake" && folder.parent_path().filename() == "share";
  return names_it ? folder.parent_path().parent_path() : folder;
}

void look_at_prefixes(std::vector<TorchInstall>& found) {
  const char* variable = std::getenv("CMAKE_PREFIX_PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  bool any = false;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(":;"), rest.size());
    const fs::path prefix(rest.substr(0, end));
    if (!prefix.empty() &&
        look_at(found, without_cmake_folder(prefix), "CMAKE_PREFIX_PATH", !any) != nullptr) {
      any = true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

// If a virtual environment is active, `python` is its own.
void look_at_pythons(std::vector<TorchInstall>& found) {
  bool any = false;
  for (const std::string python : {"python", "python3"}) {
    any = look_at_python(found, python, !any) || any;
  }
}

}  // namespace

std::vector<TorchInstall> find_torch(const TorchQuery& query) {
  std::vector<TorchInstall> found;
  if (!query.folder.empty()) {
    std::error_code ignored;
    const fs::path folder = fs::absolute(query.folder, ignored);
    look_at(found, without_cmake_folder(folder.lexically_normal()), query.folder, true);
    return found;
  }
  if (!query.python.empty()) {
    look_at_python(found, query.python, true);
    return found;
  }
  look_at_pythons(found);
  look_at_prefixes(found);
  for (const char* prefix : {"/usr/local", "/usr"}) look_at(found, prefix, "the system's", false);
  const bool any = std::any_of(found.begin(), found.end(),
                               [](const TorchInstall& torch) { return torch.is_used; });
  if (!any && !found.empty()) found.front().is_used = true;
  return found;
}

}  // namespace stepscope
