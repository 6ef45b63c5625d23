#include "profiler/recorder/loaded_versions.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

#include "profiler/process/proc_text.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// "3.11" for "python3.11" and "libpython3.11.so.1.0", "3.13" for "libpython3.13t.so"; "" for other
// names.
std::string python_in(std::string_view file) {
  if (file.starts_with("lib")) file.remove_prefix(3);
  if (!file.starts_with("python3.")) return {};
  const std::string_view version = file.substr(6);
  return std::string(version.substr(0, version.find_first_not_of("0123456789", 2)));
}

// "2.1.3" if the folder has a numpy-2.1.3.dist-info.
std::string distribution_version(const fs::path& packages, const std::string& name) {
  const std::string stem = name + "-", end = ".dist-info";
  std::error_code error;
  for (fs::directory_iterator at(packages, error), none; !error && at != none;
       at.increment(error)) {
    const std::string entry = at->path().filename().string();
    if (entry.size() > stem.size() + end.size() && entry.starts_with(stem) && entry.ends_with(end))
      return entry.substr(stem.size(), entry.size() - stem.size() - end.size());
  }
  return {};
}

// For PREFIX/lib/python3.11/site-packages of a virtual environment, PREFIX/pyvenv.cfg names the
// Python that it was made with.
std::string environment_python(const fs::path& packages) {
  const fs::path file = packages.parent_path().parent_path().parent_path() / "pyvenv.cfg";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t equals = line.find(" = ");
    const std::string key = line.substr(0, equals);
    if (equals == std::string::npos || (key != "version" && key != "version_info")) continue;
    const std::string value = line.substr(equals + 3);
    return value.substr(0, value.find_first_not_of("0123456789."));
  }
  return {};
}

struct Mapped {
  std::string python;    // "3.11"
  fs::path packages;     // of the first package with a library
  fs::path numpy_above;  // the folder that contains numpy
};

void look_at(const std::string& path, Mapped& mapped) {
  if (mapped.python.empty()) mapped.python = python_in(path.substr(path.rfind('/') + 1));
  constexpr std::string_view kPackages = "/site-packages/", kNumpy = "/numpy/";
  const std::size_t packages = path.find(kPackages), numpy = path.find(kNumpy);
  if (mapped.packages.empty() && packages != std::string::npos)
    mapped.packages = path.substr(0, packages + kPackages.size() - 1);
  if (mapped.numpy_above.empty() && numpy != std::string::npos)
    mapped.numpy_above = path.substr(0, numpy);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> versions_in_maps(const std::string& maps) {
  Mapped mapped;
  for (std::size_t at = 0; at < maps.size();) {
    const std::size_t end = std::min(maps.find('\n', at), maps.size());
    const std::size_t path = maps.find('/', at);
    if (path < end) look_at(maps.substr(path, end - path), mapped);
    at = end + 1;
  }
  std::vector<std::pair<std::string, std::string>> versions;
  if (mapped.python.empty()) return versions;
  const std::string whole =
      mapped.packages.empty() ? std::string() : environment_python(mapped.packages);
  versions.emplace_back("python_version",
                        whole.starts_with(mapped.python + ".") ? whole : mapped.python);
  if (mapped.numpy_above.empty()) return versions;
  const std::string numpy = distribution_version(mapped.numpy_above, "numpy");
  if (!numpy.empty()) versions.emplace_back("numpy_version", numpy);
  return versions;
}

std::vector<std::pair<std::string, std::string>> loaded_versions(std::int64_t pid) {
  return versions_in_maps(read_proc_file("/proc/" + std::to_string(pid) + "/maps"));
}

}  // namespace stepscope
