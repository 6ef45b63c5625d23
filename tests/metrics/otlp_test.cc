// OTLP: what OpenTelemetry's variables ask for, and the request that a collector gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "metrics/otlp_json.h"
#include "metrics/otlp_settings.h"

namespace stepscope {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<std::optional<OtlpSettings>> settings(const std::map<std::string, std::string>& variables) {
  return otlp_settings([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(OtlpSettingsTest, NothingIsSentWithoutAnEndpoint) {
  EXPECT_FALSE(settings({})->has_value());
  EXPECT_FALSE(settings({{"OTEL_EXPORTER_OTLP_HEADERS", "a=b"}})->has_value());
}

TEST(OtlpSettingsTest, TheGeneralEndpointGetsAPath) {
  EXPECT_EQ((*settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"}}))->url,
            "http://c:4318/v1/metrics");
  EXPECT_EQ((*settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://c/otlp/"}}))->url,
            "https://c/otlp/v1/metrics");
}

TEST(OtlpSettingsTest, TheVariablesForMetricsCount) {
  const auto read = settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"},
                              {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/as-it-is"},
                              {"OTEL_EXPORTER_OTLP_HEADERS", "all=1"},
                              {"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "key=a%20b, other = 2"},
                              {"OTEL_EXPORTER_OTLP_TIMEOUT", "1000"},
                              {"OTEL_METRIC_EXPORT_INTERVAL", "2500"}});
  const OtlpSettings& of = **read;
  EXPECT_EQ(of.url, "http://m/as-it-is");
  EXPECT_THAT(of.headers, ElementsAre("key: a b", "other: 2"));
  EXPECT_EQ(of.timeout, std::chrono::milliseconds(1000));
  EXPECT_EQ(of.interval, std::chrono::milliseconds(2500));
}

TEST(OtlpSettingsTest, ALineEndBeginsNoHeader) {
  const auto read = settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"},
                              {"OTEL_EXPORTER_OTLP_HEADERS", "a=1%0d%0aevil: 2,b=3"}});
  EXPECT_THAT((*read)->headers, ElementsAre("b: 3"));
}

TEST(OtlpSettingsTest, TheResourceIsTheUsers) {
  const std::map<std::string, std::string> some = {
      {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"},
      {"OTEL_RESOURCE_ATTRIBUTES", "service.name=a,deployment.environment=test"}};
  EXPECT_THAT((*settings(some))->resource,
              ElementsAre(Pair("service.name", "a"), Pair("deployment.environment", "test")));
  auto named = some;
  named["OTEL_SERVICE_NAME"] = "b";
  EXPECT_THAT((*settings(named))->resource, Contains(Pair("service.name", "b")));
  EXPECT_THAT((*settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"}}))->resource,
              ElementsAre(Pair("service.name", "stepscope")));
}

TEST(OtlpSettingsTest, ThePushCanBeSwitchedOff) {
  const std::pair<const char*, const char*> variables[] = {{"OTEL_SDK_DISABLED", "true"},
                                                           {"OTEL_METRICS_EXPORTER", "none"}};
  for (const auto& [name, value] : variables) {
    EXPECT_FALSE(
        settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"}, {name, value}})->has_value());
  }
}

TEST(OtlpSettingsTest, WhatIsNotPossibleIsSaid) {
  const auto grpc = settings(
      {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}});
  ASSERT_FALSE(grpc.ok());
  EXPECT_THAT(grpc.status().message(), HasSubstr("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"));
  EXPECT_FALSE(settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318"}}).ok());
}

TEST(OtlpSettingsTest, MessagesHaveNoPassword) {
  EXPECT_EQ(without_secrets("http://user:s3@cret@c:4318/v1/metrics"), "http://c:4318/v1/metrics");
  EXPECT_EQ(without_secrets("https://c/v1?key=s3cret"), "https://c/v1");
  EXPECT_EQ(without_secrets("https://s3cret@c#s3cret"), "https://c");
  EXPECT_EQ(without_secrets("http://c/a@b"), "http://c/a@b");
  EXPECT_EQ(without_secrets("user:s3cret@c:4318"), "c:4318");
  EXPECT_EQ(without_secrets(""), "");
  const auto bad = settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "user:s3cret@c:4318"}});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message(),
            "the OTLP endpoint c:4318/v1/metrics does not begin with http:// or https://");
}

TEST(OtlpJson, IsARequestOfMetrics) {
  const Metrics metrics = {
      {"stepscope_step_time_seconds",
       MetricType::kCounter,
       "seconds",
       "Time of steps.",
       {{{{"rank", "1"}, {"job", ""}}, 1.5}}},
      {"stepscope_input_ratio", MetricType::kGauge, "ratio", "Share.", {{{}, 0.5}}},
      {"stepscope_none", MetricType::kGauge, "", "None.", {}}};
  const auto document = nlohmann::json::parse(
      otlp_json(metrics, {{"service.name", "a"}}, "1.2.3", {1'764'029'883'000'000'000, 2}));
  EXPECT_EQ(document, nlohmann::json::parse(R"({"resourceMetrics": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "a"}}]},
    "scopeMetrics": [{"scope": {"name": "stepscope", "version": "1.2.3"}, "metrics": [
      {"name": "stepscope_step_time_seconds", "description": "Time of steps.", "unit": "s", "sum": {
        "aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [
          {"attributes": [{"key": "rank", "value": {"stringValue": "1"}}],
           "startTimeUnixNano": "1764029883000000000", "timeUnixNano": "2", "asDouble": 1.5}]}},
      {"name": "stepscope_input_ratio", "description": "Share.", "unit": "1", "gauge": {
        "dataPoints": [{"attributes": [], "timeUnixNano": "2", "asDouble": 0.5}]}}]}]}]})"));
}

TEST(OtlpJson, IsValidWhateverAMetricHolds) {
  const Metrics metrics = {
      {"m", MetricType::kGauge, "", "M.", {{{{"a", "\xff"}}, 0.0 / 0.0}, {{{"a", "\xff"}}, 1}}}};
  const auto document = nlohmann::json::parse(otlp_json(metrics, {}, "", {}));
  const auto& metric = document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
  EXPECT_EQ(metric["gauge"]["dataPoints"].size(), 1U);
}

TEST(OtlpAnswer, SaysWhatWasRejected) {
  const auto said = [](const char* answer) { return read_otlp_answer(answer).message(); };
  EXPECT_EQ(
      said(R"({"partialSuccess": {"rejectedDataPoints": "7", "errorMessage": "old\n\u001b[31m"}})"),
      "it rejected 7 of the values (old??[31m)");
  EXPECT_EQ(said(R"({"partialSuccess": {"rejectedDataPoints": 7}})"),
            "it rejected 7 of the values");
  const std::string reason(100'000, 'x');
  EXPECT_LT(
      said((R"({"partialSuccess": {"rejectedDataPoints": 1, "errorMessage": ")" + reason + "\"}}")
               .c_str())
          .size(),
      300U);
}

TEST(OtlpAnswer, SaysNothingOtherwise) {
  for (const char* answer :
       {"", "{}", "[]", "\xff\xfe", R"({"partialSuccess": {}})", R"({"partialSuccess": []})",
        R"({"partialSuccess": {"rejectedDataPoints": "0", "errorMessage": "only a warning"}})",
        R"({"partialSuccess": {"rejectedDataPoints": -1}})",
        R"({"partialSuccess": {"rejectedDataPoints": {}}})"})
    EXPECT_TRUE(read_otlp_answer(answer).ok()) << answer;
}

}  // namespace
}  // namespace stepscope
