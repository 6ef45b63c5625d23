// Metrics as text for scrapers: Prometheus, the OpenTelemetry collector, W&B, Grafana Alloy.
//
// There are two dialects (https://prometheus.io/docs/specs/om/open_metrics_spec/ and
// https://prometheus.io/docs/instrumenting/exposition_formats/). In its comments, OpenMetrics names
// a counter without "_total" and gives units; it also has an end mark. A scraper that wants
// OpenMetrics says so in its Accept header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "metrics/metric_family.h"

namespace stepscope {

enum class Dialect : std::uint8_t { kPrometheus, kOpenMetrics };

// The dialect for the value of an Accept header, "" without one.
Dialect dialect_for(std::string_view accept);
// The value of Content-Type.
const char* content_type(Dialect dialect);

// Families without points are left out.
std::string expose(const Metrics& metrics, Dialect dialect);

}  // namespace stepscope
