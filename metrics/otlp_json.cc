#include "metrics/otlp_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestCount = 20, kLongestReason = 200;  // characters of an answer
constexpr int kCumulative = 2;  // AGGREGATION_TEMPORALITY_CUMULATIVE

// What a collector says goes to a terminal: one short line of ASCII.
std::string plain(std::string text) {
  if (text.size() > kLongestReason) text.resize(kLongestReason);
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// Units are those of UCUM.
const char* ucum_unit(const std::string& unit) {
  if (unit == "seconds") return "s";
  if (unit == "bytes") return "By";
  return unit == "ratio" ? "1" : "";
}

Json attributes_of(const Labels& labels) {
  Json attributes = Json::array();
  for (const auto& [name, value] : labels) {
    if (value.empty()) continue;
    attributes.push_back({{"key", name}, {"value", {{"stringValue", value}}}});
  }
  return attributes;
}

Json points_of(const MetricFamily& family, const OtlpTimes& times) {
  Json points = Json::array();
  for (const MetricPoint& point : family.points) {
    if (!std::isfinite(point.value)) continue;  // JSON has no such numbers
    Json one = {{"attributes", attributes_of(point.labels)}};
    // 64-bit integers are strings in this encoding.
    if (family.type == MetricType::kCounter)
      one["startTimeUnixNano"] = std::to_string(times.start_unix_ns);
    one["timeUnixNano"] = std::to_string(times.now_unix_ns);
    one["asDouble"] = point.value;
    points.push_back(std::move(one));
  }
  return points;
}

Json metric_of(const MetricFamily& family, const OtlpTimes& times) {
  Json metric = {
      {"name", family.name}, {"description", family.help}, {"unit", ucum_unit(family.unit)}};
  Json data = {{"dataPoints", points_of(family, times)}};
  if (family.type == MetricType::kGauge) {
    metric["gauge"] = std::move(data);
    return metric;
  }
  data["aggregationTemporality"] = kCumulative;
  data["isMonotonic"] = true;
  metric["sum"] = std::move(data);
  return metric;
}

}  // namespace

std::string otlp_json(const Metrics& metrics, const Labels& resource, const std::string& version,
                      const OtlpTimes& times) {
  Json all = Json::array();
  for (const MetricFamily& family : metrics) {
    if (!family.points.empty()) all.push_back(metric_of(family, times));
  }
  const Json scope = {{"scope", {{"name", "stepscope"}, {"version", version}}},
                      {"metrics", std::move(all)}};
  const Json document = {
      {"resourceMetrics", Json::array({{{"resource", {{"attributes", attributes_of(resource)}}},
                                        {"scopeMetrics", Json::array({scope})}}})}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// https://opentelemetry.io/docs/specs/otlp/#partial-success-1
Status read_otlp_answer(std::string_view answer) {
  const Json document = Json::parse(answer, nullptr, false);
  if (!document.is_object() || !document.contains("partialSuccess")) return {};
  const Json& partial = document["partialSuccess"];
  if (!partial.is_object()) return {};
  const auto rejected = partial.find("rejectedDataPoints");  // an int64, and so a string in JSON
  if (rejected == partial.end()) return {};
  const std::string count = rejected->is_string() ? rejected->get<std::string>() : rejected->dump();
  if (count.empty() || count == "0" || count.find_first_not_of("0123456789") != std::string::npos)
    return {};
  const auto why = partial.find("errorMessage");
  return Status::error(
      ErrorKind::kIo,
      "it rejected " + count.substr(0, kLongestCount) + " of the values" +
          (why != partial.end() && why->is_string() ? " (" + plain(why->get<std::string>()) + ")"
                                                    : ""));
}

}  // namespace stepscope
