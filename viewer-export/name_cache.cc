#include "viewer-export/name_cache.h"

#include <utility>

#include "viewer-export/json_text.h"

namespace stepscope {
namespace {

constexpr std::string_view kEngineFrame = "autograd::engine::evaluate_function";

}  // namespace

NameCache::NameCache(const TraceReader& reader)
    : reader_(reader), entries_(reader.string_count() + 1) {}

std::string_view NameCache::escape(StringId id) {
  const std::string_view text = reader_.text(id);
  std::string escaped = json_escaped(text);
  const auto at = static_cast<std::size_t>(id);
  if (at >= entries_.size() || bytes_ + escaped.size() > kNameBytes) {
    scratch_ = std::move(escaped);
    return scratch_;
  }
  bytes_ += escaped.size();
  entries_[at] = {std::move(escaped), true, text.starts_with(kEngineFrame)};
  return entries_[at].text;
}

}  // namespace stepscope
