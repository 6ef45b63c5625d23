// Where and how to push metrics over OTLP/HTTP, from OpenTelemetry's standard variables:
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/ and
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric_family.h"
#include "metrics/run_identity.h"
#include "store/status.h"

namespace stepscope {

struct OtlpSettings {
  std::string url;
  std::vector<std::string> headers;  // "name: value"
  std::string certificate;           // a file of trusted certificates; "": the system's
  Labels resource;                   // attributes, service.name among them
  std::chrono::milliseconds interval{60'000};
  std::chrono::milliseconds timeout{10'000};
};

// Nothing if no endpoint is set, or if metrics are switched off (OTEL_SDK_DISABLED,
// OTEL_METRICS_EXPORTER). Errors: kUsage, the variables request something impossible (gRPC, no
// URL).
Result<std::optional<OtlpSettings>> otlp_settings(const Variables& variable);

// An address for messages: without its user and password, and without its query, which may hold a
// key.
std::string without_secrets(std::string_view url);

}  // namespace stepscope
