// Finds functions and lines of an executable or library in its own symbols and debug information.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

struct NativeFrame {
  std::string function;  // "mnist::BatchMaker::decode", without parameters; "": unknown
  std::string file;      // the source file; "": unknown
  int line = 0;          // 0: unknown
  bool operator==(const NativeFrame&) const = default;
};

// "reader::decode" for "void reader::decode<float>(at::Tensor const&)", as far as the name can be
// told apart from the rest. Text that is not a C++ name is returned unchanged.
std::string short_function(std::string_view demangled);

class ModuleSymbols {
 public:
  // Whether symbols can be read at all: Stepscope was built with libdw, and it is installed.
  static bool are_supported();

  // Reads the file at `path` and keeps it open. `with_lines`: also uses its debug information. If
  // it cannot be read, at() finds nothing.
  ModuleSymbols(const std::string& path, bool with_lines);
  ~ModuleSymbols();
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;

  // The function whose code is at `offset` in the file, followed by the functions that it was
  // inlined into. Without line information, one frame: "function+0x1f". Never empty.
  [[nodiscard]] std::vector<NativeFrame> at(std::uint64_t offset) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope
