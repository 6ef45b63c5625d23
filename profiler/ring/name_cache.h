// Gives names small numbers on the hot path, by content, without allocating.
//
// RecordFunction::name() may point to a string that dies with the op, and its address may hold
// another text a moment later. So a pointer is only a hint where to look: the text is always
// compared.
//
// Thread safety: none; one per thread. Invariant: a NameId always stands for the same text. The
// cache is bounded; an evicted text gets a new number when it recurs, and the recorder merges them
// (it interns by content).
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
  // The number of `name` when it is known by this very pointer and content; else kNone.
  [[nodiscard]] STEPSCOPE_HOT_INLINE NameId find_by_pointer(const char* name) const {
    const Hint& hint = hints_[hint_index(name)];
    if (hint.pointer != name) return NameId::kNone;
    const Entry& entry = entries_[hint.entry];
    return std::strcmp(entry.text, name) == 0 ? entry.name : NameId::kNone;
  }

  // The number of `text`, by content; kNone when it must be defined. `pointer` is remembered as a
  // hint.
  [[nodiscard]] NameId find(std::string_view text, const char* pointer);

  // A fresh number for `text`; the caller writes its definition into the ring. Texts of kMaxCached
  // bytes or more, or with a NUL inside, are numbered but not remembered.
  NameId define(std::string_view text, const char* pointer);

  // For a new recording, which has none of the definitions so far. Numbers continue.
  void forget() {
    hints_.fill({});
    entries_.fill({});
  }

  static constexpr std::size_t kMaxCached = 112;

 private:
  // What a lookup by pointer reads comes first: for most names that is one cache line.
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
  static std::uint64_t hash_of(std::string_view text);
  void remember(const char* pointer, std::size_t entry) {
    hints_[hint_index(pointer)] = {pointer, static_cast<std::uint32_t>(entry)};
  }

  std::uint32_t last_name_ = 0;
  std::uint32_t next_victim_ = 0;
  std::array<Hint, kHints> hints_{};
  std::array<Entry, kEntries> entries_{};
};

}  // namespace stepscope
