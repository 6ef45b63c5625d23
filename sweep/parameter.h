// Reads the values of a sweep's options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/status.h"
#include "store/sweep_rows.h"

namespace stepscope {

inline constexpr std::size_t kMaxCells = 10'000;

// The finite number that `text` is; nothing if it is anything else.
std::optional<double> number_of(std::string_view text);

// "batch=1,2,4" or, with ranges of whole numbers, "batch=1..64*2,100..500+100" and "length=1..10".
// Errors: kUsage (no name, no values, a value twice, a range that never ends).
Result<SweepParameter> parse_parameter(const std::string& text);

// "512M", "2G", "1.5g": bytes, by powers of 1024. Errors: kUsage.
Result<std::int64_t> parse_size(const std::string& text);

// "32" or "32*2*0.5". Errors: kUsage (not a product of numbers, not positive).
Result<double> evaluate_product(const std::string& text);

}  // namespace stepscope
