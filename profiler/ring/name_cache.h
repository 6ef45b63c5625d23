// Numbers names on the hot path by their content, without allocating.
//
// RecordFunction::name() may point to a string that dies with the op, and its address may hold
// another text a moment later. So a pointer is only a hint for the lookup; the text is always
// compared.
//
// Thread safety: none; one per thread. Invariant: a NameId always stands for the same text. The
// cache is bounded. An evicted text gets a new number when it recurs; the recorder merges the two,
// since it interns by content.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "profiler/ring/ring_format.h"
#include "profiler/visibility.h"

namespace stepscope {

class STEPSCOPE_INTERNAL NameCache {
 public:
  // The number of `name` if it was last seen at this pointer with this content; else kNone.
  [[nodiscard]] STEPSCOPE_HOT_INLINE NameId find_by_pointer(const char* name) const {
    const Hint& hint = hints_[hint_index(name)];
    if (hint.pointer != name) return NameId::kNone;
    const Entry& entry = entries_[hint.entry];
    return std::strcmp(entry.text, name) == 0 ? entry.name : NameId::kNone;
  }

  // The number of `text`, by content; kNone if it must be defined first. Remembers `pointer` as a
  // hint.
  STEPSCOPE_HOT [[nodiscard]] NameId find(std::string_view text, const char* pointer);

  // A new number for `text`; the caller writes its definition into the ring. Texts of kMaxCached
  // bytes or more, or with a NUL inside, are numbered but not cached.
  NameId define(std::string_view text, const char* pointer);

  // For a new recording, which has none of the earlier definitions. The numbering continues.
  void forget() {
    hints_.fill({});
    entries_.fill({});
  }

  static constexpr std::size_t kMaxCached = 112;

 private:
  // A lookup by pointer reads the first fields: for most names, one cache line.
  struct alignas(64) Entry {
    std::uint64_t hash;
    std::uint32_t length;
    NameId name;
    char text[kMaxCached];  // NUL-terminated
  };
  struct Hint {
    const char* pointer;
    std::uint32_t entry;
  };
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kEntries = 2048;  // 256 KiB, only touched as needed
  static constexpr std::size_t kHints = 1024;

  static std::size_t hint_index(const char* pointer) {
    const auto bits = reinterpret_cast<std::uintptr_t>(pointer);
    return (bits ^ (bits >> 10)) % kHints;
  }
  STEPSCOPE_HOT static std::uint64_t hash_of(std::string_view text);
  void remember(const char* pointer, std::size_t entry) {
    hints_[hint_index(pointer)] = {pointer, static_cast<std::uint32_t>(entry)};
  }

  std::uint32_t last_name_ = 0;
  std::uint32_t next_victim_ = 0;
  std::array<Hint, kHints> hints_{};
  std::array<Entry, kEntries> entries_{};
};

}  // namespace stepscope
