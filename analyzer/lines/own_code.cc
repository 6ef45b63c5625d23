#include "analyzer/lines/own_code.h"

#include <cstdint>
#include <map>

namespace stepscope {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Python's own library, wherever it is installed: /usr/lib/python3.11/queue.py.
bool is_standard_library(std::string_view file) {
  constexpr std::string_view kFolder = "/lib/python3";
  const std::size_t place = file.find(kFolder);
  if (place == std::string_view::npos) return false;
  const std::size_t end = file.find('/', place + kFolder.size());
  return end != std::string_view::npos;
}

}  // namespace

bool is_library_file(std::string_view file) {
  if (file.starts_with("<frozen ") || file.starts_with("<__")) return true;
  return contains(file, "/site-packages/") || contains(file, "/dist-packages/") ||
         is_standard_library(file);
}

std::string short_file(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t place = file.rfind(folder);
    if (place != std::string_view::npos) return std::string(file.substr(place + folder.size()));
  }
  const std::size_t last = file.rfind('/');
  if (last == std::string_view::npos || last == 0) return std::string(file);
  const std::size_t before = file.rfind('/', last - 1);
  return std::string(before == std::string_view::npos ? file : file.substr(before + 1));
}

std::string told_file(std::string_view file, std::string_view folder) {
  if (is_library_file(file)) return short_file(file);
  const bool is_below = !folder.empty() && file.size() > folder.size() + 1 &&
                        file.starts_with(folder) && file[folder.size()] == '/';
  return std::string(is_below ? file.substr(folder.size() + 1) : file);
}

// Callers come first, so what is known of the caller answers for a library's frame.
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
    // Below it are, in a forked process, the frames of the one that forked.
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
