// The input wrapper against fakes of the C interface's effects: what it forwards, and how it
// behaves when nothing records. The waits it reports are tested end to end in recording_test.cc.
#include "stepscope/input.h"

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <vector>

#include "stepscope/stepscope.h"

namespace stepscope {
namespace {

TEST(InputTest, YieldsWhatTheRangeYields) {
  std::vector<int> range{1, 2, 3};
  std::vector<int> seen;
  for (int& value : input(range)) seen.push_back(value++);
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(range, (std::vector<int>{2, 3, 4})) << "elements are references into the range";
}

TEST(InputTest, HoldsATemporary) {
  int sum = 0;
  for (const int value : input(std::vector<int>{1, 2, 3}, "temporary")) sum += value;
  EXPECT_EQ(sum, 6);
}

TEST(InputTest, TakesIteratorPairs) {
  const std::list<int> list{4, 5};
  int sum = 0;
  for (const int value : input(list.begin(), list.end(), "pair")) sum += value;
  EXPECT_EQ(sum, 9);
}

TEST(InputTest, TakesMoveOnlyElements) {
  std::vector<std::unique_ptr<int>> range;
  range.push_back(std::make_unique<int>(3));
  for (auto& pointer : input(range)) EXPECT_EQ(*pointer, 3);
}

TEST(InputTest, AnEmptyRangeIsEmpty) {
  for ([[maybe_unused]] int value : input(std::vector<int>{})) FAIL();
}

TEST(InputTest, MarksCostNothingWithoutARecording) {
  ASSERT_EQ(stepscope_is_recording(), 0);
  step();
  const Scope scope("evaluation");
  lengths(std::vector<int>{1, 2});
  InputWait wait("reader");
  wait.exhausted();
  wait.end();
  wait.end();
  EXPECT_EQ(stepscope_stop(), nullptr);
}

}  // namespace
}  // namespace stepscope
