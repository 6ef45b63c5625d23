#include "sweep/parameter.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace stepscope {
namespace {

Status refuse(const std::string& option, const std::string& what) {
  return Status::error(ErrorKind::kUsage, option + ": " + what);
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

// first..last, optionally with a step that is added or a factor.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t step = 1;
  bool factor = false;

  [[nodiscard]] bool ends() const { return factor ? step > 1 && first > 0 : step > 0; }
};

// A range as it is written: FIRST..LAST, FIRST..LAST+STEP or FIRST..LAST*FACTOR.
struct RangeText {
  std::string_view first;
  std::string_view last;
  std::string_view step = "1";
  bool factor = false;
};

// Nothing if the text is a value: two numbers with two dots between them are a range.
std::optional<RangeText> range_of(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  RangeText range{.first = text.substr(0, dots), .last = text.substr(dots + 2)};
  const std::size_t sign = range.last.find_first_of("*+");
  if (sign != std::string_view::npos) {
    range.step = range.last.substr(sign + 1);
    range.factor = range.last[sign] == '*';
    range.last = range.last.substr(0, sign);
  }
  if (!number_of(range.first) || !number_of(range.last)) return std::nullopt;
  return range;
}

std::optional<Range> whole_numbers_of(const RangeText& text) {
  const auto first = whole_number(text.first);
  const auto last = whole_number(text.last);
  const auto step = whole_number(text.step);
  if (!first || !last || !step) return std::nullopt;
  return Range{*first, *last, *step, text.factor};
}

Status add_range(const std::string& option, const Range& range, SweepParameter& parameter) {
  if (!range.ends()) return refuse(option, "this range never ends");
  if (range.last < range.first) return refuse(option, "this range is empty");
  const std::int64_t most = range.last / (range.factor ? range.step : 1);
  for (std::int64_t value = range.first; value <= range.last;) {
    if (parameter.values.size() >= kMaxCells) {
      return refuse(option, "more than " + std::to_string(kMaxCells) + " values");
    }
    parameter.values.push_back({std::to_string(value), static_cast<double>(value)});
    if (range.factor ? value > most : value > range.last - range.step) break;
    value = range.factor ? value * range.step : value + range.step;
  }
  return {};
}

bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

Status check_once(const std::string& option, const SweepParameter& parameter) {
  std::vector<std::string> texts;
  for (const SweepValue& value : parameter.values) texts.push_back(value.text);
  std::sort(texts.begin(), texts.end());
  const auto twice = std::adjacent_find(texts.begin(), texts.end());
  return twice == texts.end() ? Status() : refuse(option, "the value " + *twice + " appears twice");
}

}  // namespace

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool whole = error == std::errc() && rest == end && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

Result<SweepParameter> parse_parameter(const std::string& text) {
  const std::string option = "-p " + text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return refuse(option, "write NAME=VALUE,VALUE,…");
  SweepParameter parameter{text.substr(0, equals), {}};
  if (!is_name(parameter.name)) {
    return refuse(option, "a name has letters, digits, '_' and '-' only");
  }
  if (equals + 1 == text.size()) return refuse(option, "has no values; write NAME=VALUE,VALUE,…");
  for (const std::string& part : parts_of(std::string_view(text).substr(equals + 1), ',')) {
    if (part.empty()) return refuse(option, "an empty value");
    const auto range = range_of(part);
    if (!range) {
      parameter.values.push_back({part, number_of(part)});
      continue;
    }
    const auto numbers = whole_numbers_of(*range);
    if (!numbers) {
      return refuse(option, "a range takes whole numbers, such as 100..500+100 or 1..64*2");
    }
    if (Status status = add_range(option, *numbers, parameter); !status.ok()) return status;
  }
  if (Status status = check_once(option, parameter); !status.ok()) return status;
  return parameter;
}

Result<std::int64_t> parse_size(const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  std::string_view number = text;
  for (const std::string_view suffix : {"iB", "ib", "B", "b"}) {
    if (number.ends_with(suffix)) {
      number.remove_suffix(suffix.size());
      break;
    }
  }
  double factor = 1;
  if (!number.empty()) {
    const auto upper = static_cast<char>(std::toupper(static_cast<unsigned char>(number.back())));
    const std::size_t unit = kUnits.find(upper);
    if (unit != std::string_view::npos) {
      factor = std::pow(1024.0, static_cast<double>(unit + 1));
      number.remove_suffix(1);
    }
  }
  const auto value = number_of(number);
  if (value && *value > 0 && *value * factor < 9e18) {
    return static_cast<std::int64_t>(*value * factor);
  }
  return refuse("--memory-limit " + text, "not a size; write 512M or 2G");
}

Result<double> evaluate_product(const std::string& text) {
  double product = 1;
  for (const std::string& part : parts_of(text, '*')) {
    const auto factor = number_of(part);
    if (!factor) {
      return Status::error(ErrorKind::kUsage, "\"" + text + "\" is not a product of numbers");
    }
    product *= *factor;
  }
  if (product > 0 && std::isfinite(product)) return product;
  return Status::error(ErrorKind::kUsage, "\"" + text + "\" is not greater than 0");
}

}  // namespace stepscope
