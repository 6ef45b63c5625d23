// The names in a report's data: each is stored once and referenced by number.
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

  // A name longer than kReportNameBytes is cut, and its length is appended.
  std::int64_t number(StringId id) { return number(reader_.text(id)); }
  std::int64_t number(std::string_view text);
  [[nodiscard]] nlohmann::ordered_json json() const { return texts_; }

 private:
  const TraceReader& reader_;
  std::unordered_map<std::string, std::int64_t> numbers_;
  nlohmann::ordered_json texts_ = nlohmann::ordered_json::array();
};

}  // namespace stepscope
