// Metrics as the JSON encoding of OTLP, a request to /v1/metrics:
// https://opentelemetry.io/docs/specs/otlp/#otlphttp-request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "metrics/metric_family.h"
#include "store/status.h"

namespace stepscope {

struct OtlpTimes {
  std::int64_t start_unix_ns = 0;  // when the counters began
  std::int64_t now_unix_ns = 0;
};

// `version` is Stepscope's.
std::string otlp_json(const Metrics& metrics, const Labels& resource, const std::string& version,
                      const OtlpTimes& times);

// The collector's answer to a request that it accepted. kIo if it rejected a part of the metrics.
// An answer that is no JSON says nothing about that.
Status read_otlp_answer(std::string_view answer);

}  // namespace stepscope
