// Finds the interpreter in a process: which CPython it is and where its _PyRuntime lies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/stacks/process_memory.h"
#include "profiler/stacks/python_layout.h"

namespace stepscope {

// A file that is mapped into a process, from the text of /proc/PID/maps.
struct MappedFile {
  std::string path;
  std::uint64_t begin = 0;  // the address of its first byte
};

// Those that may hold an interpreter: executables and libraries whose name begins with python or
// libpython. In the order of the addresses, each once.
std::vector<MappedFile> python_files(std::string_view maps);

// 3.11 of /usr/lib/libpython3.11.so.1.0 and /usr/bin/python3.11. Nothing: the name does not tell.
std::optional<PythonVersion> python_version_of(std::string_view path);

// Where the ELF file at `path` has its section .PyRuntime, as an address relative to its first
// byte in memory. Nothing without one, or where it cannot be read.
std::optional<std::uint64_t> python_section_of(const std::string& path);

struct PythonRuntime {
  std::uint64_t address = 0;  // of _PyRuntime
  PythonVersion version;
  PythonLayout layout;
};

struct FoundPython {
  std::optional<PythonRuntime> runtime;
  // Why there is none although there is an interpreter: one line; empty: there is no interpreter.
  std::string why_not;
};

// `root`: where the process sees `/`, for the paths in `maps`.
FoundPython find_python(const ProcessMemory& memory, std::string_view maps,
                        const std::string& root);

}  // namespace stepscope
