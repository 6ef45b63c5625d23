// The metrics of a run at one moment, as plain values. The exposition and OTLP are made from them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {

enum class MetricType : std::uint8_t {
  kGauge,    // the current value
  kCounter,  // only grows, from 0 at the start of the run
};

using Labels = std::vector<std::pair<std::string, std::string>>;

struct MetricPoint {
  Labels labels;  // those with an empty value are left out
  double value = 0;
};

struct MetricFamily {
  // Without "_total". Ends in the unit, as OpenMetrics requires.
  std::string name;
  MetricType type = MetricType::kGauge;
  std::string unit;  // "seconds", "bytes", "ratio"; "": a count
  std::string help;  // one sentence
  std::vector<MetricPoint> points;
};

using Metrics = std::vector<MetricFamily>;

}  // namespace stepscope
