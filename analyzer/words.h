// Formats figures for people, the same way in sentences, on the page and in evidence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope {

std::string time_text(double ns);  // "812 ns", "12.3 µs", "4.82 ms", "1.07 s"
std::string time_text_like(double ns,
                           double reference);  // "0.71": in the unit of time_text(reference)
std::string time_range_text(double low_ns, double high_ns);  // "0.71–1.20 ms"
std::string bytes_text(double bytes);        // "812 B", "12.3 MB", "1.90 GB": powers of 1000
std::string percent_text(double fraction);   // "63.1 %"
std::string count_text(std::int64_t count);  // "12,345"
std::string cores_text(double cores);        // "1 core", "1.5 cores"
std::string mean_text(double value);         // "16", "15.8", "6,000": of a count
std::string ordinal(std::size_t number);     // "1st", "20th"
// Replaces "step" in a phrase by the word `unit`: "of the step" becomes "of the call".
std::string in_units(std::string_view phrase, std::string_view unit);
std::string in_quotes(std::string_view name);  // "\"checkpoint\"", printable.h

}  // namespace stepscope
