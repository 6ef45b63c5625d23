// Finds the native library that contains an address of a process's program counter.
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

// Code that does not show which library computes: the interpreter and its own modules, the C and
// C++ libraries, PyTorch (its ops say more) and Stepscope. So the time a library spends in memcpy()
// is not attributed to it.
bool is_base_code(std::string_view path);

class LibraryMap {
 public:
  using Clock = std::chrono::steady_clock;
  // The mappings of a process are not read more often than this. A program may load libraries while
  // it runs, but addresses in generated code belong to none.
  static constexpr std::chrono::seconds kMinAge{1};

  // `maps`: the text of /proc/PID/maps. Replaces what was known.
  void set(std::string_view maps, Clock::time_point now);
  // Whether set() may help with an address that no known mapping contains.
  [[nodiscard]] bool may_be_old(Clock::time_point now) const {
    return code_.empty() || now - read_at_ >= kMinAge;
  }

  [[nodiscard]] bool knows(std::uint64_t address) const {
    return find_code(code_, address) != nullptr;
  }
  // The path of the library that contains `address`; "" if it is base code or in no file. Valid
  // until set().
  [[nodiscard]] const std::string& library_at(std::uint64_t address) const;

 private:
  std::vector<MappedCode> code_;  // by address; paths of base code are ""
  Clock::time_point read_at_;
};

}  // namespace stepscope
