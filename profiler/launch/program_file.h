// Examines a program before it starts, to see whether it can be wrapped.
#pragma once

#include <filesystem>
#include <string>

#include "store/status.h"

namespace stepscope {

struct ProgramFile {
  std::filesystem::path path;
  bool is_static = false;   // ignores preloaded libraries: cannot be recorded
  std::string sanitizer{};  // "libasan.so.8": must be the first library; else ""
  // Why our library cannot be loaded into it, which would end it or make ld.so complain: "32-bit".
  // Empty: it can.
  std::string foreign{};
};

// Finds `name` as execvp() would and reads its ELF header, or, for a script, that of its
// interpreter. Errors, worded as in a shell: kNotFound (also of the interpreter); kBadInput (cannot
// be executed, cut off, built for another kind of machine). A 32-bit program of this kind of
// machine may run.
Result<ProgramFile> inspect_program(const std::string& name);

}  // namespace stepscope
