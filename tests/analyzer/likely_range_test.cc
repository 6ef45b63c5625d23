// The range in which a predicted step likely lies.
#include "analyzer/advise/likely_range.h"

#include <gtest/gtest.h>

#include "tests/analyzer/advice_run.h"

namespace stepscope::testing {
namespace {

AdviceFacts predicted(const char* rule, std::int64_t step_ns, std::int64_t saves_ns) {
  AdviceFacts advice;
  advice.rule = rule;
  advice.predicted_step_ns = step_ns;
  advice.saves_ns = saves_ns;
  return advice;
}

TEST(LikelyRange, IsAMultipleOfThePredictedStep) {
  EXPECT_EQ(likely_range(predicted("input-prefetch", 1'000'000, 1)),
            (LikelyStep{1'000'000, 1'690'000}));
  EXPECT_EQ(likely_range(predicted("input-cache", 1'000'000, 1)), (LikelyStep{690'000, 1'360'000}));
}

TEST(LikelyRange, IsUnknownWhereNoRealStepWasCompared) {
  EXPECT_EQ(likely_range(predicted("pinned-copies", 1'000'000, 1)), std::nullopt);
  EXPECT_EQ(likely_range(predicted("input-cache", 1'000'000, 0)), std::nullopt)
      << "nothing was predicted";
}

TEST(LikelyRange, ComesWithTheAdvice) {
  const auto advice = advice_of(record({.input = 6 * kMs, .rest = 4 * kMs, .cores = 4}));
  const Advice* prefetch = find(advice, "input-prefetch");
  ASSERT_NE(prefetch, nullptr);
  EXPECT_EQ(prefetch->likely, likely_range(predicted("input-prefetch", prefetch->predicted_step_ns,
                                                     prefetch->saves_ns)));
  EXPECT_NE(prefetch->likely, std::nullopt);
}

}  // namespace
}  // namespace stepscope::testing
