#include "profiler/ring/name_cache.h"

namespace stepscope {

// FNV-1a, 64 bit (Fowler, Noll, Vo; offset basis and prime from their reference page).
std::uint64_t NameCache::hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash ^ (hash >> 32);
}

NameId NameCache::find(std::string_view text, const char* pointer) {
  const std::uint64_t hash = hash_of(text);
  const std::size_t set = hash % (kEntries / kWays) * kWays;
  for (std::size_t i = set; i < set + kWays; ++i) {
    const Entry& entry = entries_[i];
    if (entry.hash == hash && entry.length == text.size() && entry.name != NameId::kNone &&
        std::memcmp(entry.text, text.data(), text.size()) == 0) {
      remember(pointer, i);
      return entry.name;
    }
  }
  return NameId::kNone;
}

NameId NameCache::define(std::string_view text, const char* pointer) {
  const NameId name{++last_name_};
  if (text.size() >= kMaxCached || text.find('\0') != std::string_view::npos) return name;
  const std::uint64_t hash = hash_of(text);
  const std::size_t set = hash % (kEntries / kWays) * kWays;
  std::size_t slot = set + next_victim_++ % kWays;
  for (std::size_t i = set; i < set + kWays; ++i) {
    if (entries_[i].name == NameId::kNone) slot = i;
  }
  Entry& entry = entries_[slot];
  std::memcpy(entry.text, text.data(), text.size());
  entry.text[text.size()] = '\0';
  entry.hash = hash;
  entry.length = static_cast<std::uint32_t>(text.size());
  entry.name = name;
  remember(pointer, slot);
  return name;
}

}  // namespace stepscope
