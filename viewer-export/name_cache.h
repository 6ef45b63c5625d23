// The interned strings of a store as JSON text, each escaped once.
//
// Thread safety: none. Memory: at most about kNameBytes; names beyond that are escaped at each use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/trace_reader.h"

namespace stepscope {

class NameCache {
 public:
  static constexpr std::size_t kNameBytes = std::size_t{8} << 20;

  explicit NameCache(const TraceReader& reader);

  // The inside of a JSON string. Valid until the next call.
  std::string_view escaped(StringId id) {
    const auto at = static_cast<std::size_t>(id);
    if (at < entries_.size() && entries_[at].known) return entries_[at].text;
    return escape(id);
  }

  // An op without forward work: autograd's own frame around a backward node.
  bool is_engine_frame(StringId id) {
    escaped(id);
    const auto at = static_cast<std::size_t>(id);
    return at < entries_.size() && entries_[at].engine_frame;
  }

 private:
  struct Entry {
    std::string text;
    bool known = false;
    bool engine_frame = false;
  };

  std::string_view escape(StringId id);

  const TraceReader& reader_;
  std::vector<Entry> entries_;  // [StringId]
  std::size_t bytes_ = 0;
  std::string scratch_;
};

}  // namespace stepscope
