// From the command line of a sweep to its settings: values, ranges, placeholders, and what is
// refused.
#include "sweep/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sweep/command_template.h"
#include "sweep/command_words.h"
#include "sweep/parameter.h"
#include "tests/store/assert_ok.h"

namespace stepscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> values_of(const std::string& text) {
  const auto parameter = parse_parameter(text);
  EXPECT_TRUE(parameter.ok()) << parameter.status().message();
  std::vector<std::string> values;
  if (!parameter.ok()) return values;
  for (const SweepValue& value : parameter->values) values.push_back(value.text);
  return values;
}

void expect_refused(const Status& status, const std::string& why) {
  EXPECT_EQ(status.kind(), ErrorKind::kUsage);
  EXPECT_THAT(status.message(), HasSubstr(why));
  EXPECT_THAT(status.message(), ::testing::Not(HasSubstr("\n")));
}

SweepArguments arguments_of(std::vector<std::string> parameters, std::vector<std::string> program) {
  SweepArguments arguments;
  arguments.parameters = std::move(parameters);
  arguments.program = std::move(program);
  return arguments;
}

TEST(SweepParameters, ValuesAreTakenAsTheyStand) {
  EXPECT_THAT(values_of("batch=1,2,04"), ElementsAre("1", "2", "04"));
  EXPECT_THAT(values_of("file=a=b,c.txt"), ElementsAre("a=b", "c.txt"));
  EXPECT_THAT(values_of("dots=a..b"), ElementsAre("a..b"));
}

TEST(SweepParameters, RangesAddOrMultiply) {
  EXPECT_THAT(values_of("n=1..4"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(values_of("n=1..64*4"), ElementsAre("1", "4", "16", "64"));
  EXPECT_THAT(values_of("n=1..10*4"), ElementsAre("1", "4"));
  EXPECT_THAT(values_of("n=10..30+10,7"), ElementsAre("10", "20", "30", "7"));
  EXPECT_THAT(values_of("n=-2..0"), ElementsAre("-2", "-1", "0"));
  EXPECT_THAT(values_of("n=9223372036854775806..9223372036854775807"),
              ElementsAre("9223372036854775806", "9223372036854775807"));
}

TEST(SweepParameters, AParameterIsANumberWhenAllOfItsValuesAre) {
  EXPECT_TRUE(parse_parameter("a=1,2.5,1e-3")->numeric());
  EXPECT_FALSE(parse_parameter("a=1,two")->numeric());
  EXPECT_FALSE(parse_parameter("a=nan,inf")->numeric());
}

TEST(SweepParameters, WhatIsNoneIsRefused) {
  expect_refused(parse_parameter("batch").status(), "NAME=VALUE");
  expect_refused(parse_parameter("=1").status(), "a name has");
  expect_refused(parse_parameter("a b=1").status(), "a name has");
  expect_refused(parse_parameter("batch=").status(), "has no values");
  expect_refused(parse_parameter("batch=1,,2").status(), "an empty value");
  expect_refused(parse_parameter("batch=1,2,1").status(), "the value 1 appears twice");
  expect_refused(parse_parameter("batch=1..8*1").status(), "never ends");
  expect_refused(parse_parameter("batch=0..8*2").status(), "never ends");
  expect_refused(parse_parameter("batch=1..8+0").status(), "never ends");
  expect_refused(parse_parameter("batch=8..1").status(), "is empty");
  expect_refused(parse_parameter("batch=1..1000000").status(), "more than 10000");
}

TEST(SweepParameters, ARangeOfOtherThanWholeNumbersIsNoText) {
  for (const char* values :
       {"1..1e9", "0.1..0.5", "1..99999999999999999999", "1..8*two", "1..8*", "1..8+0.5"}) {
    expect_refused(parse_parameter(std::string("rate=") + values).status(), "takes whole numbers");
  }
  EXPECT_EQ(parse_parameter("folder=../a")->values.front().text, "../a");
  EXPECT_EQ(parse_parameter("version=1..x")->values.front().text, "1..x");
}

TEST(SweepSizes, ArePowersOf1024) {
  EXPECT_EQ(*parse_size("512M"), std::int64_t{512} << 20);
  EXPECT_EQ(*parse_size("1.5g"), std::int64_t{3} << 29);
  EXPECT_EQ(*parse_size("2GiB"), std::int64_t{2} << 30);
  EXPECT_EQ(*parse_size("4096"), 4096);
  for (const char* text : {"", "G", "-1G", "2X", "1e30G", "0"}) {
    expect_refused(parse_size(text).status(), "not a size");
  }
}

TEST(SweepSizes, ProductsAreEvaluated) {
  EXPECT_EQ(*evaluate_product("8*64*0.5"), 256);
  expect_refused(evaluate_product("8+1").status(), "not a product");
  expect_refused(evaluate_product("0").status(), "not greater than 0");
}

TEST(ShellWords, AreThoseOfAShell) {
  EXPECT_THAT(*shell_words("  a 'b c' \"d 'e\" f\\ g h\"i\"j ''"),
              ElementsAre("a", "b c", "d 'e", "f g", "hij", ""));
  EXPECT_THAT(*shell_words("\"a\\\"b\\n\" 'c\\'"), ElementsAre("a\"b\\n", "c\\"));
  EXPECT_THAT(*shell_words(""), ElementsAre());
  expect_refused(shell_words("a 'b").status(), "a quote is not closed");
}

TEST(CommandTemplates, PlaceholdersAreFilledAndBracesStay) {
  const auto command = CommandTemplate::parse({"./x", "--a={batch}x{length}", "{{\"k\":{batch}}}"});
  ASSERT_OK(command.status());
  EXPECT_EQ(command->placeholders(), (std::set<std::string>{"batch", "length"}));
  EXPECT_THAT(command->fill({{"batch", "8"}, {"length", "{64}"}}),
              ElementsAre("./x", "--a=8x{64}", "{\"k\":8}"));
}

TEST(CommandTemplates, ABraceAloneIsRefused) {
  for (const char* word : {"{", "}", "a{b", "a}b", "{a{b}", "{a"}) {
    expect_refused(CommandTemplate::parse({word}).status(), "unmatched brace");
  }
}

TEST(SweepPlans, HaveEverySettingOnce) {
  const auto job =
      plan_sweep(arguments_of({"batch=1,2", "kind=x,y,z"}, {"./p", "{batch}", "{kind}"}));
  ASSERT_OK(job.status());
  ASSERT_EQ(job->plan.cells.size(), 6U);
  EXPECT_EQ(job->plan.cells[0].command, "./p 1 x");
  EXPECT_EQ(job->plan.cells[5].command, "./p 2 z");
  EXPECT_THAT(job->words[4], ElementsAre("./p", "2", "y"));
  EXPECT_EQ(job->samples[4], 2.0) << "a parameter named batch says how many samples a step takes";
}

TEST(SweepPlans, SamplesAreWhatIsAskedFor) {
  SweepArguments arguments =
      arguments_of({"batch=2,4", "length=8"}, {"./p", "{batch}", "{length}"});
  arguments.samples_per_step = "{batch}*{length}";
  EXPECT_EQ(plan_sweep(arguments)->samples[1], 32.0);
  arguments.samples_per_run = "100";
  expect_refused(plan_sweep(arguments).status(), "not both");
  arguments.samples_per_step.clear();
  EXPECT_TRUE(plan_sweep(arguments)->per_run);
  EXPECT_EQ(plan_sweep(arguments)->warm_up, 0) << "all of its steps count";
  arguments.warmup = 3;
  EXPECT_EQ(plan_sweep(arguments)->warm_up, 3);
  arguments.samples_per_run = "{words}";
  expect_refused(plan_sweep(arguments).status(), "--samples-per-run: {words} is not a parameter");
}

TEST(SweepPlans, WithoutABatchSamplesAreNotKnown) {
  const auto job = plan_sweep(arguments_of({"workers=1,2"}, {"./p", "{workers}"}));
  EXPECT_EQ(job->samples[0], std::nullopt);
}

TEST(SweepPlans, VariantsAreWholeCommands) {
  SweepArguments arguments = arguments_of({"batch=1,2"}, {});
  arguments.variants = {"old=./a '{batch} x'", "new=./b {batch}"};
  const auto job = plan_sweep(arguments);
  ASSERT_OK(job.status());
  EXPECT_THAT(job->words[1], ElementsAre("./a", "2 x"));
  EXPECT_THAT(job->words[2], ElementsAre("./b", "1"));
  arguments.variants.push_back("old=./c {batch}");
  expect_refused(plan_sweep(arguments).status(), "--variant old=./c {batch}: old appears twice");
}

TEST(SweepPlans, WhatMakesNoSweepIsRefused) {
  const auto refused = [](std::vector<std::string> parameters, std::vector<std::string> program,
                          std::vector<std::string> variants = {}) {
    SweepArguments arguments = arguments_of(std::move(parameters), std::move(program));
    arguments.variants = std::move(variants);
    return plan_sweep(arguments).status();
  };
  expect_refused(refused({"batch=1,2"}, {}), "no command");
  expect_refused(refused({}, {"./p"}), "nothing to sweep");
  expect_refused(refused({"batch=1,2"}, {"./p", "{btach}"}),
                 "{btach} is not a parameter; known: {batch}");
  expect_refused(refused({"batch=1,2", "n=1"}, {"./p", "{batch}"}), "-p n: the command has no {n}");
  expect_refused(refused({"batch=1,2", "batch=3"}, {"./p", "{batch}"}), "batch appears twice");
  expect_refused(refused({"a=1..200", "b=1..200"}, {"./p", "{a}", "{b}"}),
                 "more than 10000 settings");
  expect_refused(refused({}, {"./p"}, {"a=x", "b=y"}), "not both");
  expect_refused(refused({}, {}, {"a=x", "b="}), "--variant b=: no command");
  expect_refused(refused({}, {}, {"a=x", "y"}), "write NAME='COMMAND'");
  expect_refused(refused({"n=1,2"}, {}, {"a=x {n}", "b=y"}), "--variant b has no {n}");
}

TEST(SweepPlans, OnlyTheSameSweepIsGoneOnWith) {
  const auto plan = [](const std::string& parameter, const std::string& word, int warmup = -1) {
    SweepArguments arguments = arguments_of({parameter}, {"./p", word});
    arguments.warmup = warmup;
    return plan_sweep(arguments)->plan;
  };
  const SweepPlan stored = plan("n=1,2", "{n}");
  EXPECT_OK(check_same_sweep("s.db", stored, plan("n=1,2", "{n}")));
  expect_refused(check_same_sweep("s.db", stored, plan("n=1,3", "{n}")),
                 "another grid (\"n=1,2\" there");
  expect_refused(check_same_sweep("s.db", stored, plan("n=1,2", "-n{n}")), "another command");
  expect_refused(check_same_sweep("s.db", stored, plan("n=1,2", "{n}", 5)), "another --warmup");
}

}  // namespace
}  // namespace stepscope
