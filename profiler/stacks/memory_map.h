// Finds the file that the code at an address of a process comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

struct MappedCode {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t offset = 0;  // of `begin` in the file
  std::string path;          // "/usr/lib/libz.so.1"; "" or "[vdso]": no file
};

// The executable mappings in the text of a /proc/PID/maps, sorted by address. Malformed lines are
// left out.
std::vector<MappedCode> mapped_code(std::string_view maps);

// The mapping in `code`, which is sorted by address, that contains `address`; nullptr: none.
const MappedCode* find_code(const std::vector<MappedCode>& code, std::uint64_t address);

}  // namespace stepscope
