// The functions and lines of one executable or library, from its own symbols and debug information.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

struct NativeFrame {
  std::string function;  // "mnist::BatchMaker::decode", without its parameters; "" unknown
  std::string file;      // of the source; "" unknown
  int line = 0;          // 0: unknown
  bool operator==(const NativeFrame&) const = default;
};

// "reader::decode" of "void reader::decode<float>(at::Tensor const&)", as far as names can be told
// from the rest; what is no C++ name stays as it is.
std::string short_function(std::string_view demangled);

class ModuleSymbols {
 public:
  // Whether symbols can be read at all: built with libdw, and it is installed.
  static bool are_supported();

  // Of the file at `path`, which is kept open. `with_lines`: look into its debug information too.
  // Where it cannot be read, nothing is known.
  ModuleSymbols(const std::string& path, bool with_lines);
  ~ModuleSymbols();
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;

  // The function whose code is at `offset` in the file, and after it those that it was inlined
  // into. Without lines one: "function+0x1f". Never empty.
  [[nodiscard]] std::vector<NativeFrame> at(std::uint64_t offset) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope
