// The text that scrapers get. tests/python/test_metrics.py reads it with the parsers of Prometheus'
// own client library.
#include "metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace stepscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Metrics kSome = {
    {"stepscope_step_time_seconds",
     MetricType::kCounter,
     "seconds",
     "Time of steps.",
     {{{{"run", "a"}, {"rank", ""}}, 1.5}, {{{"run", "b"}, {"rank", "1"}}, 0}}},
    {"stepscope_input_ratio", MetricType::kGauge, "ratio", "Share of input.", {{{}, 0.25}}},
    {"stepscope_none", MetricType::kGauge, "", "Without points.", {}}};

TEST(Exposition, IsOpenMetrics) {
  EXPECT_EQ(expose(kSome, Dialect::kOpenMetrics),
            "# HELP stepscope_step_time_seconds Time of steps.\n"
            "# TYPE stepscope_step_time_seconds counter\n"
            "# UNIT stepscope_step_time_seconds seconds\n"
            "stepscope_step_time_seconds_total{run=\"a\"} 1.5\n"
            "stepscope_step_time_seconds_total{run=\"b\",rank=\"1\"} 0\n"
            "# HELP stepscope_input_ratio Share of input.\n"
            "# TYPE stepscope_input_ratio gauge\n"
            "# UNIT stepscope_input_ratio ratio\n"
            "stepscope_input_ratio 0.25\n"
            "# EOF\n");
}

TEST(Exposition, IsWhatPrometheusReadByDefault) {
  const std::string text = expose(kSome, Dialect::kPrometheus);
  EXPECT_THAT(text, HasSubstr("# TYPE stepscope_step_time_seconds_total counter\n"));
  EXPECT_THAT(text, Not(HasSubstr("# EOF")));
  EXPECT_THAT(text, Not(HasSubstr("# UNIT")));
}

TEST(Exposition, EscapesAnyLabel) {
  const Metrics metrics = {
      {"m", MetricType::kGauge, "", "M.", {{{{"program", "a\"b\\c\nd\xff"}}, 1}}}};
  EXPECT_THAT(expose(metrics, Dialect::kPrometheus),
              HasSubstr("m{program=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\"} 1\n"));
}

TEST(Exposition, WritesNumbersThatAreNone) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Metrics metrics = {{"m",
                            MetricType::kGauge,
                            "",
                            "M.",
                            {{{}, infinite}, {{}, -infinite}, {{}, infinite - infinite}}}};
  const std::string text = expose(metrics, Dialect::kPrometheus);
  for (const char* line : {"m +Inf\n", "m -Inf\n", "m NaN\n"}) EXPECT_THAT(text, HasSubstr(line));
}

TEST(Exposition, IsOpenMetricsForThoseWhoAccept) {
  EXPECT_EQ(dialect_for(""), Dialect::kPrometheus);
  EXPECT_EQ(dialect_for("text/plain;version=0.0.4;q=0.5,*/*;q=0.1"), Dialect::kPrometheus);
  EXPECT_EQ(dialect_for("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            Dialect::kOpenMetrics);
}

}  // namespace
}  // namespace stepscope
