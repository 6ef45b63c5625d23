#include "analyzer/words.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "analyzer/printable.h"

namespace stepscope {
namespace {

// Three significant digits, or all digits before the point.
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

struct Unit {
  double ns = 1;
  const char* name = "ns";
};

// Where three digits would be rounded up to four, the next unit is taken.
Unit unit_of(double ns) {
  if (ns < 999.5) return {1, "ns"};
  if (ns < 999.5e3) return {1e3, "µs"};
  return ns < 999.5e6 ? Unit{1e6, "ms"} : Unit{1e9, "s"};
}

}  // namespace

std::string time_text(double ns) {
  const Unit unit = unit_of(ns);
  return (unit.ns > 1 ? three_digits(ns / unit.ns) : fmt::format("{:.0f}", ns)) + " " + unit.name;
}

std::string time_text_like(double ns, double reference) {
  const Unit unit = unit_of(reference);
  return unit.ns > 1 ? three_digits(ns / unit.ns) : fmt::format("{:.0f}", ns);
}

std::string time_range_text(double low_ns, double high_ns) {
  return time_text_like(low_ns, high_ns) + "–" + time_text(high_ns);
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  double value = bytes;
  for (; std::abs(value) >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return (unit == 0 ? fmt::format("{:.0f}", value) : three_digits(value)) + kUnits[unit];
}

std::string percent_text(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

std::string count_text(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string mean_text(double value) {
  if (value == std::floor(value)) return count_text(std::llround(value));
  return fmt::format("{:.1f}", value);
}

std::string cores_text(double cores) {
  const std::string number = mean_text(std::round(cores * 10) / 10);
  return number + (number == "1" ? " core" : " cores");
}

std::string ordinal(std::size_t number) {
  const std::size_t tens = number % 100;
  const char* suffix = tens >= 11 && tens <= 13 ? "th"
                       : number % 10 == 1       ? "st"
                       : number % 10 == 2       ? "nd"
                       : number % 10 == 3       ? "rd"
                                                : "th";
  return std::to_string(number) + suffix;
}

std::string in_units(std::string_view phrase, std::string_view unit) {
  constexpr std::string_view kStep = "step";
  std::string text(phrase);
  for (auto at = text.find(kStep); at != std::string::npos; at = text.find(kStep, at + unit.size()))
    text.replace(at, kStep.size(), unit);
  return text;
}

std::string in_quotes(std::string_view name) { return "\"" + printable(name) + "\""; }

}  // namespace stepscope
