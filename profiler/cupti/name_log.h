// The program's end of the log of names (device_area.h): each text is written once, before the
// first record that names it is handed over.
//
// Thread safety: none; guarded by its owner's lock. Only start() allocates.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "profiler/cupti/device_area.h"

namespace stepscope {

class NameLog {
 public:
  // Writes to `area` from now on; keeps the contents of an area already in use.
  void start(DeviceArea* area);
  // Writes `text` unless the log has it already. The text at an address may have changed, so it is
  // compared each time.
  void note(NameSpace space, std::uint64_t key, std::string_view text);
  // Whether `key` already has a text; for names that cannot change.
  [[nodiscard]] bool knows(NameSpace space, std::uint64_t key) const;

 private:
  struct Entry {
    std::uint64_t key;
    NameSpace space;
    std::uint32_t at;  // offset of its text in the log; 0: the entry is free
    std::uint32_t length;
  };
  [[nodiscard]] std::size_t find(NameSpace space, std::uint64_t key) const;

  std::vector<Entry> entries_;  // by hash, with linear probing
  std::size_t used_ = 0;
  DeviceArea* area_ = nullptr;
};

}  // namespace stepscope
