// The names in a report's data: each once, told by its number.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/trace_reader.h"

namespace stepscope {

class ReportNames {
 public:
  explicit ReportNames(const TraceReader& reader) : reader_(reader) {}

  // Of a name longer than kReportNameBytes the beginning, and how long it is.
  std::int64_t number(StringId id) { return number(reader_.text(id)); }
  std::int64_t number(std::string_view text);
  [[nodiscard]] nlohmann::ordered_json json() const { return texts_; }

 private:
  const TraceReader& reader_;
  std::unordered_map<std::string, std::int64_t> numbers_;
  nlohmann::ordered_json texts_ = nlohmann::ordered_json::array();
};

}  // namespace stepscope
