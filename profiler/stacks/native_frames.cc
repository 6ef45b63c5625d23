#include "profiler/stacks/native_frames.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace stepscope {
namespace {

// No process has this many mappings. But it may send another file of /proc, which may never end.
constexpr std::size_t kMaxMapsBytes = std::size_t{16} << 20;
// In a program that generates code while it runs, every stack may have a new address.
constexpr std::chrono::milliseconds kBetweenReadings{200};

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Without debug information, the function of a frame includes the offset: "decode+0x1b".
std::string_view without_offset(std::string_view function) {
  return function.substr(0, function.rfind("+0x"));
}

// Does not move the file offset, because others may read the descriptor too.
std::string read_whole(const OwnedFd& file) {
  std::string text;
  std::array<char, 65536> part{};
  ssize_t size = 0;
  while (text.size() < kMaxMapsBytes && (size = pread(file.get(), part.data(), part.size(),
                                                      static_cast<off_t>(text.size()))) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

bool is_of_libtorch(std::string_view path) {
  const std::string_view name = file_name(path);
  return name.starts_with("libtorch") || name.starts_with("libc10");
}

bool is_our_own(std::string_view path) { return file_name(path).starts_with("libstepscope"); }

// Whether the frame is libtorch's call of the hooks, from which the stack was taken.
bool calls_hooks(const NativeFrame& frame) {
  return frame.function.starts_with("at::RecordFunction") ||
         frame.function.starts_with("at::StepCallbacks") ||
         frame.function == "c10::Dispatcher::runRecordFunction";
}

}  // namespace

bool is_library_module(std::string_view path, const std::vector<std::string>& torch_folders) {
  for (const std::string_view folder : {"/usr/lib", "/lib"}) {
    if (path.starts_with(folder)) return true;
  }
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (path.find(folder) != std::string_view::npos) return true;
  }
  return is_of_libtorch(path) || std::ranges::any_of(torch_folders, [&](const std::string& folder) {
           return path.starts_with(folder);
         });
}

const MappedCode* NativeFrames::code_at(std::uint64_t address) {
  if (const MappedCode* found = find_code(code_, address)) return found;
  const auto now = std::chrono::steady_clock::now();
  if (!code_.empty() && now - read_at_ < kBetweenReadings) return nullptr;
  read_at_ = now;
  std::vector<MappedCode> code = mapped_code(read_whole(maps_));
  if (code.empty()) return nullptr;  // the process has ended
  code_ = std::move(code);
  for (const MappedCode& mapped : code_) {
    if (!is_of_libtorch(mapped.path)) continue;
    std::string folder = mapped.path.substr(0, mapped.path.find_last_of('/') + 1);
    if (std::ranges::find(torch_folders_, folder) == torch_folders_.end())
      torch_folders_.push_back(std::move(folder));
  }
  return find_code(code_, address);
}

NativeFrames::Module& NativeFrames::module(const std::string& path) {
  std::unique_ptr<Module>& known = modules_[path];
  if (known != nullptr) return *known;
  // Use the path as the program sees it: it may be in a container.
  const std::string seen = "/proc/" + std::to_string(pid_) + "/root" + path;
  const std::string& readable = access(seen.c_str(), R_OK) == 0 ? seen : path;
  const bool library = is_library_module(path, torch_folders_);
  known.reset(new Module{{readable, !library}, path, library});
  return *known;
}

const std::vector<NativeFrame>& NativeFrames::frames_at(std::uint64_t address) {
  const auto known = known_.find(address);
  if (known != known_.end()) return known->second;
  const MappedCode* code = code_at(address);
  std::vector<NativeFrame> frames;
  if (code == nullptr || !code->path.starts_with('/')) {
    frames.push_back({"", code == nullptr ? "" : code->path, 0});
  } else if (!is_our_own(code->path)) {
    const Module& known_module = module(code->path);
    frames = known_module.symbols.at(address - code->begin + code->offset);
    for (NativeFrame& frame : frames) {
      if (frame.file.empty()) frame.file = code->path;
      // The offset within a library function is useless.
      const std::size_t offset = frame.function.rfind("+0x");
      if (known_module.library && offset != std::string::npos) frame.function.resize(offset);
      if (frame.function.empty()) frame.function = "?";
    }
  }
  return known_.emplace(address, std::move(frames)).first->second;
}

void NativeFrames::place(std::span<const std::uint64_t> addresses) {
  for (const std::uint64_t address : addresses) static_cast<void>(code_at(address));
}

std::vector<NativeFrame> NativeFrames::of(std::span<const std::uint64_t> addresses) {
  std::vector<NativeFrame> frames;
  for (const std::uint64_t address : addresses) {
    const std::vector<NativeFrame>& found = frames_at(address);
    if (frames.empty() && !found.empty() && calls_hooks(found.back())) continue;
    frames.insert(frames.end(), found.begin(), found.end());
  }
  std::ranges::reverse(frames);
  return frames;
}

std::vector<NativeFrame> common_frames(const std::vector<NativeFrame>& begin,
                                       const std::vector<NativeFrame>& end) {
  const auto [begin_differs, end_differs] = std::ranges::mismatch(begin, end);
  std::vector<NativeFrame> common(begin.begin(), begin_differs);
  const bool same_function =
      begin_differs != begin.end() && end_differs != end.end() &&
      without_offset(begin_differs->function) == without_offset(end_differs->function) &&
      begin_differs->file == end_differs->file;
  if (same_function) common.push_back(*begin_differs);
  return common;
}

}  // namespace stepscope
