// Takes arbitrary bytes for the memory of a CPython of the version that the first byte says, and
// for a location table. Promise: no crash, no endless walk, and names and lines that can be stored.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "profiler/stacks/process_memory.h"
#include "profiler/stacks/python_layout.h"
#include "profiler/stacks/python_lines.h"
#include "profiler/stacks/python_stacks.h"
#include "store/utf8.h"
#include "tests/fuzz/require.h"

namespace {

using namespace stepscope;
using fuzz::require;

constexpr std::uint64_t kRuntime = 16;  // its address

void read_lines(std::span<const std::byte> table) {
  for (std::int64_t offset = -2; offset < 64; offset += 2) {
    for (const auto& line : {python_line(table, 1, offset), python_line_310(table, 1, offset)})
      require(!line || *line >= 0, "a line is not negative");
  }
}

void read_stacks(const ProcessMemory& memory, PythonVersion version, const PythonLayout& layout) {
  PythonStacks stacks(memory, {kRuntime, version, layout});
  std::vector<PythonFrame> frames;
  const std::vector<pid_t> threads = stacks.threads();
  require(threads.size() <= PythonStacks::kMaxThreads, "threads have an end");
  for (std::size_t i = 0; i < threads.size() && i < 4; ++i) {
    if (stacks.read(threads[i], frames) != StackOutcome::kRead) continue;
    require(!frames.empty() && frames.size() <= PythonStacks::kMaxFrames, "a stack has an end");
    for (const PythonFrame& frame : frames) {
      const PythonFunction& function = stacks.function(frame.function);
      require(frame.line >= 0, "a line is not negative");
      require(is_clean_utf8(function.name) && is_clean_utf8(function.file), "names are text");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  read_lines(bytes.first(bytes.size() < 256 ? bytes.size() : 256));
  OwnedFd file(memfd_create("memory", MFD_CLOEXEC));
  if (write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return 0;
  const ProcessMemory memory(std::move(file));
  const PythonVersion version{3, 10 + data[0] % 4};
  const auto layout = version.minor < 13 || bytes.size() < kRuntime
                          ? fixed_python_layout(version)
                          : described_python_layout(bytes.subspan(kRuntime));
  if (layout) read_stacks(memory, version, *layout);
  return 0;
}
