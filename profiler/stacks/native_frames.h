// Converts the native stacks of one process to functions and lines, while it runs and after its
// end.
//
// Thread safety: none; used by one recorder.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/channel/owned_fd.h"
#include "profiler/stacks/memory_map.h"
#include "profiler/stacks/module_symbols.h"

namespace stepscope {

// Whether a file with code was installed with the system, with Python or with libtorch. In such
// files, only function names are looked up. `torch_folders`: the folders of libtorch's libraries.
bool is_library_module(std::string_view path, const std::vector<std::string>& torch_folders);

class NativeFrames {
 public:
  // `maps`: the /proc/PID/maps of `pid`.
  NativeFrames(pid_t pid, OwnedFd maps) : pid_(pid), maps_(std::move(maps)) {}

  // Finds out which libraries contain the addresses, while the program still runs. Cheap.
  void place(std::span<const std::uint64_t> addresses);
  // The frames of a stack, outermost first, without Stepscope's own. `addresses`: innermost first.
  // A frame whose source file is unknown has its module as the file.
  std::vector<NativeFrame> of(std::span<const std::uint64_t> addresses);

 private:
  struct Module {
    ModuleSymbols symbols;
    std::string path;
    bool library;
  };

  const MappedCode* code_at(std::uint64_t address);
  Module& module(const std::string& path);
  const std::vector<NativeFrame>& frames_at(std::uint64_t address);

  const pid_t pid_;
  const OwnedFd maps_;
  std::vector<MappedCode> code_;
  std::vector<std::string> torch_folders_;
  std::chrono::steady_clock::time_point read_at_;
  std::map<std::string, std::unique_ptr<Module>> modules_;
  std::unordered_map<std::uint64_t, std::vector<NativeFrame>> known_;  // innermost first
};

// The frames that were on the stack during a whole stretch, which began in the stack `begin` and
// ended in the stack `end` (both outermost first). The innermost of them has the line from the
// beginning of the stretch.
std::vector<NativeFrame> common_frames(const std::vector<NativeFrame>& begin,
                                       const std::vector<NativeFrame>& end);

}  // namespace stepscope
