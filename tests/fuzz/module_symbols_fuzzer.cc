// Takes arbitrary bytes for an executable or library. Promise: its functions and lines are looked
// up without a crash or an endless search, whatever its symbols and debug information say.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "profiler/channel/owned_fd.h"
#include "profiler/stacks/module_symbols.h"
#include "tests/fuzz/require.h"

// dwarf_getscopes() of elfutils 0.188 loses the 32 bytes of a scope if it fails after finding one.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libdw.so"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const OwnedFd file(memfd_create("library", MFD_CLOEXEC));
  if (write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  for (const bool with_lines : {false, true}) {
    const ModuleSymbols symbols(path, with_lines);
    for (std::uint64_t offset = 0; offset < size + 64; offset += size / 16 + 1)
      fuzz::require(!symbols.at(offset).empty(), "there is always a frame");
  }
  return 0;
}
