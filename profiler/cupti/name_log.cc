#include "profiler/cupti/name_log.h"

#include <cstring>

namespace stepscope {
namespace {

// Twice the number of texts that fit in the log at 100 bytes each.
constexpr std::size_t kEntries = 1U << 15;

std::size_t hash_of(NameSpace space, std::uint64_t key) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
  return static_cast<std::size_t>(((key ^ static_cast<std::uint64_t>(space) << 60) * kOdd) >> 40);
}

}  // namespace

void NameLog::start(DeviceArea* area) {
  if (area == area_) return;
  entries_.assign(kEntries, {});
  used_ = 0;
  area_ = area;
  area_->name_bytes.store(0, std::memory_order_release);
}

std::size_t NameLog::find(NameSpace space, std::uint64_t key) const {
  std::size_t i = hash_of(space, key) % kEntries;
  while (entries_[i].at != 0 && (entries_[i].key != key || entries_[i].space != space)) {
    i = (i + 1) % kEntries;
  }
  return i;
}

bool NameLog::knows(NameSpace space, std::uint64_t key) const {
  return entries_[find(space, key)].at != 0;
}

void NameLog::note(NameSpace space, std::uint64_t key, std::string_view text) {
  text = text.substr(0, kMaxDeviceNameLength);
  Entry& entry = entries_[find(space, key)];
  const auto* log = reinterpret_cast<const char*>(area_->names);
  if (entry.at != 0 && text == std::string_view(log + entry.at, entry.length)) return;
  const auto length = static_cast<std::uint32_t>(text.size());
  const std::uint64_t begin = area_->name_bytes.load(std::memory_order_relaxed);
  const std::uint64_t end = begin + device_name_bytes(length);
  // One entry stays free, so that every search ends.
  if (end > kDeviceNameBytes || (entry.at == 0 && used_ + 1 == kEntries)) {
    area_->lost_names.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (entry.at == 0) ++used_;
  const DeviceName head{space, length, key};
  std::memcpy(area_->names + begin, &head, sizeof(head));
  std::memcpy(area_->names + begin + sizeof(head), text.data(), length);
  entry = {key, space, static_cast<std::uint32_t>(begin + sizeof(head)), length};
  area_->name_bytes.store(end, std::memory_order_release);
}

}  // namespace stepscope
