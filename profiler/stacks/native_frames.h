// Turns the native stacks of one process into functions and lines, while it runs and after its end.
//
// Thread safety: none; one recorder's.
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

// Of a file that holds code: installed with the system, with Python or with libtorch. Of those only
// the names of functions are looked up. `torch_folders`: where libtorch's libraries are.
bool is_library_module(std::string_view path, const std::vector<std::string>& torch_folders);

class NativeFrames {
 public:
  // `maps`: of its /proc/PID/maps.
  NativeFrames(pid_t pid, OwnedFd maps) : pid_(pid), maps_(std::move(maps)) {}

  // Learns which libraries the addresses are in, while the program is there to tell. Cheap.
  void place(std::span<const std::uint64_t> addresses);
  // The frames of a stack, the outermost first, without Stepscope's own. `addresses`: the innermost
  // first. A frame whose source is unknown has its module as the file.
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

// The frames that a stretch of time belongs to which began in the stack `begin` and ended in `end`
// (both with the outermost first): those that were on the stack all the time. The innermost of
// these is in the line that it was in at the beginning.
std::vector<NativeFrame> common_frames(const std::vector<NativeFrame>& begin,
                                       const std::vector<NativeFrame>& end);

}  // namespace stepscope
