#include "metrics/exposition.h"

#include <array>
#include <charconv>
#include <cmath>

namespace stepscope {
namespace {

const char* type_name(MetricType type) {
  return type == MetricType::kCounter ? "counter" : "gauge";
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

// Names may hold any byte; a scraper refuses a whole page for one that is not UTF-8.
std::size_t length_of_character(std::string_view rest) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  const std::size_t length = byte(0) < 0x80                       ? 1
                             : byte(0) >= 0xc2 && byte(0) <= 0xdf ? 2
                             : byte(0) >= 0xe0 && byte(0) <= 0xef ? 3
                             : byte(0) >= 0xf0 && byte(0) <= 0xf4 ? 4
                                                                  : 0;
  if (length == 0 || length > rest.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xed && byte(1) > 0x9f;
  const bool too_large = byte(0) == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || too_large ? 0 : length;
}

void append_escaped(std::string& text, std::string_view value) {
  while (!value.empty()) {
    const std::size_t length = length_of_character(value);
    if (length == 0) {
      text += "\xef\xbf\xbd";  // U+FFFD
    } else if (value[0] == '\n') {
      text += "\\n";
    } else if (value[0] == '\\' || value[0] == '"') {
      text += '\\';
      text += value[0];
    } else {
      text += value.substr(0, length);
    }
    value.remove_prefix(length == 0 ? 1 : length);
  }
}

void append_labels(std::string& text, const Labels& labels) {
  char separator = '{';
  for (const auto& [name, value] : labels) {
    if (value.empty()) continue;
    text += separator;
    text += name + "=\"";
    append_escaped(text, value);
    text += '"';
    separator = ',';
  }
  if (separator == ',') text += '}';
}

void append_family(std::string& text, const MetricFamily& family, Dialect dialect) {
  const std::string suffix = family.type == MetricType::kCounter ? "_total" : "";
  const bool open = dialect == Dialect::kOpenMetrics;
  const std::string described = open ? family.name : family.name + suffix;
  text += "# HELP " + described + " " + family.help + "\n";
  text += "# TYPE " + described + " " + type_name(family.type) + "\n";
  if (open && !family.unit.empty()) text += "# UNIT " + described + " " + family.unit + "\n";
  for (const MetricPoint& point : family.points) {
    text += family.name + suffix;
    append_labels(text, point.labels);
    text += " " + number(point.value) + "\n";
  }
}

}  // namespace

Dialect dialect_for(std::string_view accept) {
  return accept.find("application/openmetrics-text") == std::string_view::npos
             ? Dialect::kPrometheus
             : Dialect::kOpenMetrics;
}

const char* content_type(Dialect dialect) {
  return dialect == Dialect::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string expose(const Metrics& metrics, Dialect dialect) {
  std::string text;
  for (const MetricFamily& family : metrics) {
    if (!family.points.empty()) append_family(text, family, dialect);
  }
  if (dialect == Dialect::kOpenMetrics) text += "# EOF\n";
  return text;
}

}  // namespace stepscope
