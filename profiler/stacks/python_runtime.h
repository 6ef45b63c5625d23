// Finds the interpreter in a process: its CPython version and the address of its _PyRuntime.
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

// The files that may contain an interpreter: executables and libraries whose name begins with
// python or libpython. Sorted by address, each once.
std::vector<MappedFile> python_files(std::string_view maps);

// 3.11 for /usr/lib/libpython3.11.so.1.0 and /usr/bin/python3.11. Nothing if the name has no
// version.
std::optional<PythonVersion> python_version_of(std::string_view path);

// The address of the section .PyRuntime of the ELF file at `path`, relative to the file's first
// byte in memory. Nothing without such a section, or if the file cannot be read.
std::optional<std::uint64_t> python_section_of(const std::string& path);

struct PythonRuntime {
  std::uint64_t address = 0;  // of _PyRuntime
  PythonVersion version;
  PythonLayout layout;
};

struct FoundPython {
  std::optional<PythonRuntime> runtime;
  // Why there is none, although there is an interpreter: one line. Empty if there is no
  // interpreter.
  std::string why_not;
};

// `root`: the process's `/`, to which the paths in `maps` are relative.
FoundPython find_python(const ProcessMemory& memory, std::string_view maps,
                        const std::string& root);

}  // namespace stepscope
