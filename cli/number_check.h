// Checks of numbers on the command line. CLI11's own take "nan" for a number in any range, and
// print the largest double with all of its digits.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <system_error>

namespace stepscope::cli {

inline CLI::Validator number_between(double low, double high, const std::string& description) {
  const auto check = [low, high](const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && value >= low && value <= high) return std::string();  // NaN is not
    return fmt::format("{} is not a number from {:.15g} to {:.15g}", text, low, high);
  };
  return {CLI::Validator(check, description)};
}

inline CLI::Validator number_in(double low, double high) {
  return number_between(low, high, fmt::format("FLOAT in [{:.15g} - {:.15g}]", low, high));
}

inline CLI::Validator positive_number() { return number_between(1e-9, 1e15, "POSITIVE"); }

}  // namespace stepscope::cli
