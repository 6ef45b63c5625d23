#include "analyzer/lines/own_code.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace stepscope {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view name_of(std::string_view file) { return file.substr(file.rfind('/') + 1); }

bool is_native_library(std::string_view file) {
  const std::string_view name = name_of(file);
  return name.ends_with(".so") || contains(name, ".so.");
}

// The path of a file below site-packages or dist-packages; "" if it is not below one.
std::string_view path_in_packages(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t place = file.rfind(folder);
    if (place != std::string_view::npos) return file.substr(place + folder.size());
  }
  return {};
}

// Whether a file is a header of the C++ library, of libtorch or of Stepscope, whose code becomes
// part of the program.
bool is_library_header(std::string_view file) {
  constexpr std::string_view kFolders[] = {
      "/include/c++/", "/include/torch/",     "/include/ATen/",  "/include/c10/",
      "/torch/csrc/",  "/include/stepscope/", "/include/caffe2/"};
  return std::ranges::any_of(kFolders,
                             [&](std::string_view folder) { return contains(file, folder); });
}

bool is_native_source(std::string_view file) {
  const std::string_view name = name_of(file);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  constexpr std::string_view kEndings[] = {".h",  ".hh",  ".hpp", ".hxx", ".inl", ".tcc", ".c",
                                           ".cc", ".cpp", ".cxx", ".C",   ".S",   ".s"};
  return std::ranges::find(kEndings, name.substr(dot)) != std::end(kEndings);
}

// Whether native code is installed with the system, or is libtorch's or the kernel's ("[vdso]").
bool is_native_library_code(std::string_view file) {
  if (file.starts_with("[") || is_library_header(file)) return true;
  for (const std::string_view folder : {"/usr/include/", "/usr/local/include/"}) {
    if (file.starts_with(folder)) return true;
  }
  const bool library = is_native_library(file);
  for (const std::string_view folder : {"/usr/lib", "/lib"}) {
    if (file.starts_with(folder)) return library || is_native_source(file);
  }
  const std::string_view name = name_of(file);
  return library && (name.starts_with("libtorch") || name.starts_with("libc10"));
}

// Python's own library, wherever it is installed: /usr/lib/python3.11/queue.py.
bool is_standard_library(std::string_view file) {
  constexpr std::string_view kFolder = "/lib/python3";
  const std::size_t place = file.find(kFolder);
  if (place == std::string_view::npos) return false;
  const std::size_t end = file.find('/', place + kFolder.size());
  return end != std::string_view::npos;
}

// "libjpeg" for "libjpeg-4d2a9f1c.so.62.4.0", "_imaging" for "_imaging.cpython-311-x86_64.so".
std::string_view stem_of(std::string_view name) {
  name = name.substr(0, name.find('.'));
  const std::size_t dash = name.rfind('-');
  const bool has_hash =
      dash != std::string_view::npos && name.size() - dash > 8 &&
      name.find_first_not_of("0123456789abcdef", dash + 1) == std::string_view::npos;
  return has_hash ? name.substr(0, dash) : name;
}

}  // namespace

bool is_library_file(std::string_view file) {
  if (file.starts_with("<frozen ") || file.starts_with("<__")) return true;
  return !path_in_packages(file).empty() || is_standard_library(file) ||
         is_native_library_code(file);
}

std::string native_library(std::string_view file) {
  const std::string_view name = stem_of(name_of(file));
  const std::string_view place = path_in_packages(file);
  // A module may have no folder of its own: site-packages/_cffi_backend.abi3.so.
  const bool in_package = place.find('/') != std::string_view::npos;
  // "numpy.libs" has the libraries that numpy contains.
  const std::string_view package = in_package ? place.substr(0, place.find_first_of("./")) : "";
  if (package.empty() || package == name) return std::string(name);
  return std::string(package) + " (" + std::string(name) + ")";
}

std::string short_file(std::string_view file) {
  if (is_native_library(file)) return std::string(name_of(file));
  if (const auto place = path_in_packages(file); !place.empty()) return std::string(place);
  const std::size_t last = file.rfind('/');
  if (last == std::string_view::npos || last == 0) return std::string(file);
  const std::size_t before = file.rfind('/', last - 1);
  return std::string(before == std::string_view::npos ? file : file.substr(before + 1));
}

std::string display_file(std::string_view file, std::string_view folder) {
  if (is_library_file(file)) return short_file(file);
  const bool is_below = !folder.empty() && file.size() > folder.size() + 1 &&
                        file.starts_with(folder) && file[folder.size()] == '/';
  return std::string(is_below ? file.substr(folder.size() + 1) : file);
}

// Callers come first, so a library's frame takes the result of its caller.
OwnCode::OwnCode(const std::vector<StackFrame>& frames,
                 const std::function<std::string_view(StringId)>& text)
    : frames_(&frames) {
  struct FileFacts {
    bool library = false;
    bool starts_processes = false;
  };
  std::map<StringId, FileFacts> files;
  found_.reserve(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const StackFrame& frame = frames[i];
    const auto [file, is_new] = files.try_emplace(frame.file);
    if (is_new) {
      const std::string_view path = text(frame.file);
      file->second = {is_library_file(path), path.ends_with("/multiprocessing/process.py")};
    }
    OwnFrame found;
    found.innermost = static_cast<FrameId>(i + 1);
    // In a forked process, the frames below are those of the process that forked.
    const bool begins_process =
        file->second.starts_processes && text(frame.function).ends_with("_bootstrap");
    if (!file->second.library) {
      found.own = found.innermost;
    } else if (frame.caller != FrameId::kNone && !begins_process) {
      found.own = found_[index(frame.caller)].own;
    }
    found_.push_back(found);
  }
}

}  // namespace stepscope
