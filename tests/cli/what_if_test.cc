// `stepscope what-if` as a script meets it: the page, the document, and one clear line for what is
// wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/binary.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

class WhatIfTest : public ::testing::Test {
 protected:
  // Steps of 4.8 ms: 3 ms of input, 0.64 forward, 0.72 backward, 0.4 optimizer, 0.04 host.
  std::string make(const SyntheticRun& run = {}) {
    make_store(folder_ / "run.db", run);
    return (folder_ / "run.db").string();
  }
  Json ask(std::vector<std::string> changes) {
    changes.insert(changes.begin(), {"what-if", make(), "--json"});
    const Outcome outcome = run_stepscope(changes);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return Json::parse(outcome.out, nullptr, false);
  }
  void expect_error(const std::vector<std::string>& arguments, int code, const std::string& says) {
    const Outcome outcome = run_stepscope(arguments);
    EXPECT_EQ(outcome.exit_code, code);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("stepscope what-if: "));
    EXPECT_THAT(outcome.err, HasSubstr(says));
  }

  TempDir folder_;
};

TEST_F(WhatIfTest, DocumentKeepsItsContract) {
  const Json answer = ask({"--op", "aten::linear=0"});
  EXPECT_EQ(answer["schema"], "stepscope.what_if/1");
  EXPECT_NEAR(answer["measured_step_ns"].get<double>(), 4.8e6, 4e3);
  EXPECT_NEAR(answer["replayed_step_ns"].get<double>(), 4.8e6, 4e3);
  EXPECT_LT(answer["replay_error"].get<double>(), 1e-6);
  EXPECT_NEAR(answer["predicted_step_ns"].get<double>(), 3.44e6, 4e3)
      << "the forward pass is gone, and what goes back through it";
  EXPECT_EQ(answer["measured_step_ns"].get<std::int64_t>() -
                answer["predicted_step_ns"].get<std::int64_t>(),
            answer["saves_ns"].get<std::int64_t>());
  EXPECT_EQ(answer["ci95"].size(), 2u);
  double before = 0, after = 0;
  for (const auto& [category, ns] : answer["exposed_before"].items()) before += ns.get<double>();
  for (const auto& [category, ns] : answer["exposed_after"].items()) after += ns.get<double>();
  EXPECT_NEAR(before, answer["replayed_step_ns"].get<double>(), 10);
  EXPECT_NEAR(after, answer["predicted_step_ns"].get<double>(), 10);
}

TEST_F(WhatIfTest, SeveralChangesAreMadeTogether) {
  const Json answer =
      ask({"--op", "aten::linear=0", "--op", "aten::_foreach_add_=0", "--input", "cached"});
  EXPECT_NEAR(answer["predicted_step_ns"].get<double>(), (4.8 - 3 - 0.64 - 0.72 - 0.4) * 1e6, 4e3);
}

TEST_F(WhatIfTest, PageSaysHowWellTheReplayFits) {
  const Outcome outcome = run_stepscope({"what-if", make(), "--input", "cached"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("measured      4.80 ms"));
  EXPECT_THAT(outcome.out, HasSubstr("replayed      4.80 ms   +0.0 %"));
  EXPECT_THAT(outcome.out, HasSubstr("predicted     1.80 ms   2.67 ×"));
  EXPECT_THAT(outcome.out, HasSubstr("input           3.00 ms  →     0 ns"));
}

TEST_F(WhatIfTest, OneStepIsInTheSingular) {
  const Outcome outcome = run_stepscope({"what-if", make(), "--input", "cached", "--steps", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(" 1 step\n"), HasSubstr(", 1 step without any change")));
}

TEST_F(WhatIfTest, WhatIsWrongIsOneLine) {
  const std::string store = make();
  expect_error({"what-if", store, "--op", "aten::liner=2x"}, 2, "the nearest is aten::linear");
  expect_error({"what-if", store, "--op", "aten::linear"}, 2, "NAME=2x");
  for (const char* factor : {"1e-14x", "infx", "nanx", "1e300x"})
    expect_error({"what-if", store, "--op", "aten::linear=" + std::string(factor)}, 2, "0");
  expect_error({"what-if", store, "--op", std::string(60'000, 'a') + "=2x"}, 2, "no such op");
  expect_error({"what-if", store, "--input", "sooner"}, 2, "prefetched, cached or workers=4");
  expect_error({"what-if", store, "--copies", "pinned"}, 2, "no device was recorded");
  expect_error({"what-if", store, "--launch", "fast"}, 2, "write graphs");
  expect_error({"what-if", store}, 2, "nothing to change");
  expect_error({"what-if", store, "--steps", "x", "--input", "cached"}, 2, "not a range");
  expect_error({"what-if", (folder_ / "none.db").string(), "--input", "cached"}, 3, "no such file");
}

}  // namespace
}  // namespace stepscope::testing
