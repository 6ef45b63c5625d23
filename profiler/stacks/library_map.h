// Which native library a process's program counter is in.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/stacks/memory_map.h"

namespace stepscope {

// Code that says nothing about who computes: the interpreter and its own modules, the C and C++
// libraries, PyTorch (its ops say more) and Stepscope. What a library does in memcpy() is therefore
// not its own.
bool is_base_code(std::string_view path);

class LibraryMap {
 public:
  using Clock = std::chrono::steady_clock;
  // Libraries are loaded as a program runs, but an address in generated code is in none: the
  // process's mappings are not read more often than this.
  static constexpr std::chrono::seconds kLeastAge{1};

  // `maps`: the text of /proc/PID/maps. Replaces what was known.
  void set(std::string_view maps, Clock::time_point now);
  // Whether set() may help with an address that no known mapping holds.
  [[nodiscard]] bool may_be_old(Clock::time_point now) const {
    return code_.empty() || now - read_at_ >= kLeastAge;
  }

  [[nodiscard]] bool knows(std::uint64_t address) const {
    return find_code(code_, address) != nullptr;
  }
  // The path of the library that holds `address`; "" where it is base code, or in no file. Valid
  // until set().
  [[nodiscard]] const std::string& library_at(std::uint64_t address) const;

 private:
  std::vector<MappedCode> code_;  // by address; paths of base code are ""
  Clock::time_point read_at_;
};

}  // namespace stepscope
