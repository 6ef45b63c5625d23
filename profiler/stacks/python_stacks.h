// Reads the call stacks of CPython threads of another process. No thread is stopped: if a stack
// changes while it is read, it is read again, and given up after some attempts.
//
// Everything in that memory is checked before use: it may be torn, freed, or forged.
//
// Thread safety: none; used by one reader.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/stacks/process_memory.h"
#include "profiler/stacks/python_runtime.h"

namespace stepscope {

struct PythonFunction {
  std::string file;
  std::string name;  // qualified from 3.11 on: 'Images.__getitem__'
  int first_line = 0;
};

struct PythonFrame {
  std::uint32_t function = 0;  // for PythonStacks::function()
  int line = 0;                // 0: unknown

  bool operator==(const PythonFrame&) const = default;
};

enum class StackOutcome : std::uint8_t {
  kRead,
  kNoStack,  // the thread runs no Python, or is not known to the interpreter
  kTorn,     // it changed in each attempt
};

class PythonStacks {
 public:
  // Limits. Frames that call those within the limit are left out.
  static constexpr std::size_t kMaxFrames = 200;
  static constexpr std::size_t kMaxFunctions = 100'000;
  static constexpr std::size_t kMaxNameBytes = 1024;
  static constexpr std::size_t kMaxLineTableBytes = std::size_t{1} << 18;
  static constexpr std::size_t kMaxThreads = 1024;

  // `memory` outlives it.
  PythonStacks(const ProcessMemory& memory, const PythonRuntime& runtime);

  // The system ids of the threads that the interpreter has now.
  std::vector<pid_t> threads();
  // Reads the stack of `tid`, innermost frame first. `frames` is valid only after kRead.
  StackOutcome read(pid_t tid, std::vector<PythonFrame>& frames);
  [[nodiscard]] const PythonFunction& function(std::uint32_t id) const { return functions_[id]; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Code {
    std::uint64_t file = 0, name = 0, line_table = 0;  // addresses that identify it
    int first_line = 0;
    std::uint32_t function = 0;
    std::vector<std::byte> lines;
    Clock::time_point checked_at;
  };

  struct ThreadState {
    pid_t tid = 0;
    std::uint64_t frame = 0;     // the innermost one; 0: it runs no Python
    std::uint64_t frame_at = 0;  // the address of that pointer
  };

  std::optional<pid_t> tid_at(std::uint64_t thread) const;
  void find_threads();
  std::optional<std::uint64_t> find_thread(pid_t tid);
  std::optional<ThreadState> state_of(std::uint64_t thread) const;
  bool walk(std::uint64_t frame, std::vector<PythonFrame>& frames);
  // Returns false if there is no frame at that address. Sets `previous` to the calling frame.
  bool add_frame(std::uint64_t frame, std::vector<PythonFrame>& frames, std::uint64_t& previous);
  const Code* code_at(std::uint64_t address);
  std::optional<std::string> text_at(std::uint64_t address) const;
  std::uint32_t function_of(PythonFunction function);

  const ProcessMemory& memory_;
  const PythonLayout layout_;
  const std::uint64_t runtime_;
  MemoryWindow window_;
  std::map<pid_t, std::uint64_t> threads_;  // system id to PyThreadState
  Clock::time_point searched_at_;
  Clock::time_point now_;  // when the current read began
  std::unordered_map<std::uint64_t, Code> codes_;
  std::deque<PythonFunction> functions_;
  std::map<std::string, std::uint32_t> function_ids_;
};

}  // namespace stepscope
