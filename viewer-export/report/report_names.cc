#include "viewer-export/report/report_names.h"

#include "viewer-export/report/report.h"

namespace stepscope {
namespace {

std::string shortened(std::string_view text) {
  if (text.size() <= kReportNameBytes) return std::string(text);
  std::size_t end = kReportNameBytes;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
  return std::string(text.substr(0, end)) + "… (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace

std::int64_t ReportNames::number(std::string_view text) {
  std::string name = shortened(text);
  const auto [entry, is_new] =
      numbers_.try_emplace(name, static_cast<std::int64_t>(numbers_.size()));
  if (is_new) texts_.push_back(std::move(name));
  return entry->second;
}

}  // namespace stepscope
