#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "analyzer/report.h"
#include "present/json_value.h"
#include "present/report_tables_json.h"

namespace stepscope {
namespace {

// A loop of one step. Its `labels` scopes take 1, 2, … ns; computing takes 5 ns.
LoopReport loop_with(int labels) {
  Step step;
  step.times.push_back({Category::kCompute, PhaseKind::kForward, "", Duration(5)});
  for (int i = 1; i <= labels; ++i) {
    step.times.push_back(
        {Category::kOther, PhaseKind::kNone, "scope " + std::to_string(i), Duration(i)});
  }
  LoopReport loop;
  loop.steps.push_back(step);
  loop.analysed = {0};
  return loop;
}

TEST(SlowestSteps, NameAllScopesOfAFew) {
  const Json times = slowest_json(loop_with(20), 5)[0]["times"];
  ASSERT_EQ(times.size(), 21U);
  for (const Json& time : times) EXPECT_EQ(time["label"].is_null(), time["category"] == "compute");
}

// A program may name each of thousands of scopes differently.
TEST(SlowestSteps, NameTheLongestOfManyScopesAndLoseNoTime) {
  const Json times = slowest_json(loop_with(3000), 5)[0]["times"];
  ASSERT_EQ(times.size(), 1U + 20U + 1U);
  std::int64_t total = 0;
  for (const Json& time : times) total += time["ns"].get<std::int64_t>();
  EXPECT_EQ(total, 5 + 3000 * 3001 / 2);
  EXPECT_EQ(times[1]["label"], "scope 2981");
  EXPECT_EQ(times[20]["label"], "scope 3000");
  EXPECT_EQ(times[21]["category"], "other");
  EXPECT_TRUE(times[21]["label"].is_null());
}

}  // namespace
}  // namespace stepscope
