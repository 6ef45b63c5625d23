// Helpers that the sections of a run's page share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/report.h"
#include "present/join.h"

namespace stepscope {

inline constexpr std::size_t kPageWidth = 100;
inline constexpr const char* kDot = " · ";

// "HIGHLY INPUT-BOUND"
std::string verdict_title(const LoopVerdict& verdict);
// A phrase of the page, with "call" in place of "step" if the loop's steps are calls.
std::string unit_text(const char* phrase, const LoopReport& loop);
// The number of analysed steps; at least 1.
double steps_of(const LoopReport& loop);
// "500–520 of 938", "2–938 of 938"
std::string step_range(const LoopReport& loop);
// "cuda:0 Tesla V100-DGXS-32GB"
std::string device_text(const LoopReport& loop);

// What recording the ops cost, a sentence without its full stop; "" if none were recorded.
std::string recording_text(const LoopReport& loop);

}  // namespace stepscope
