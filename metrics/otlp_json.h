// Metrics as the JSON encoding of OTLP, a request to /v1/metrics:
// https://opentelemetry.io/docs/specs/otlp/#otlphttp-request.
#pragma once

#include <cstdint>
#include <string>

#include "metrics/metric_family.h"

namespace stepscope {

struct OtlpTimes {
  std::int64_t start_unix_ns = 0;  // when the counters began
  std::int64_t now_unix_ns = 0;
};

// `version` is Stepscope's.
std::string otlp_json(const Metrics& metrics, const Labels& resource, const std::string& version,
                      const OtlpTimes& times);

}  // namespace stepscope
