#include "metrics/exposition.h"

#include <array>
#include <charconv>
#include <cmath>

#include "store/utf8.h"

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

// A scraper refuses a whole page for one byte that is not UTF-8.
void append_escaped(std::string& text, std::string_view value) {
  for (const char c : clean_utf8(value)) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? "\\n" : std::string_view(&c, 1);
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
