// A Chrome trace, exported and read back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/store/testing/synthetic_run.h"
#include "viewer-export/chrome_trace.h"

namespace stepscope {

struct Exported {
  std::string text;
  nlohmann::json document;
  ChromeTraceSummary summary;

  [[nodiscard]] std::vector<nlohmann::json> events(const std::string& phase) const {
    std::vector<nlohmann::json> found;
    for (const nlohmann::json& event : document["traceEvents"]) {
      if (event["ph"] == phase) found.push_back(event);
    }
    return found;
  }
  [[nodiscard]] std::vector<nlohmann::json> slices(const std::string& category) const {
    std::vector<nlohmann::json> found;
    for (const nlohmann::json& event : events("X")) {
      if (event["cat"] == category) found.push_back(event);
    }
    return found;
  }
};

inline Exported export_store(const std::filesystem::path& path,
                             const ChromeTraceOptions& options = {}) {
  const auto reader = testing::open_store(path);
  const auto analysis = reader->analysis();
  EXPECT_TRUE(analysis.ok());
  StringSink sink;
  const auto summary = write_chrome_trace(*reader, *analysis, options, sink);
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  return {sink.text(), nlohmann::json::parse(sink.text()),
          summary.ok() ? *summary : ChromeTraceSummary{}};
}

// Exact: the text has three decimals, and a double holds times of years in them.
inline std::int64_t ns(const nlohmann::json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}

// What a viewer does with one track: a stable sort by start, then a stack.
inline void expect_strict_nesting(const Exported& trace) {
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
  for (const nlohmann::json& slice : trace.events("X")) {
    const std::int64_t start = ns(slice["ts"]);
    tracks[slice["tid"].get<std::int64_t>()].emplace_back(start, start + ns(slice["dur"]));
  }
  for (auto& [tid, slices] : tracks) {
    std::ranges::stable_sort(slices, {}, &std::pair<std::int64_t, std::int64_t>::first);
    std::vector<std::int64_t> open;
    for (const auto& [start, end] : slices) {
      while (!open.empty() && open.back() <= start) open.pop_back();
      ASSERT_TRUE(open.empty() || end <= open.back())
          << "overlap on tid " << tid << " at " << start;
      open.push_back(end);
    }
  }
}

}  // namespace stepscope
