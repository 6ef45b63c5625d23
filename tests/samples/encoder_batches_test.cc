#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples/cpp/encoder/batches.h"

namespace encoder {
namespace {

using ::testing::ElementsAre;

const std::vector<std::size_t> kLengths{30, 10, 20, 10, 40};

TEST(Batches, TakeSentencesAsTheyCome) {
  EXPECT_THAT(plan_batches(kLengths, Mode::kBatch, 2, false),
              ElementsAre(Group{0, 1}, Group{2, 3}, Group{4}));
}

TEST(Batches, TakeSentencesFromLongToShort) {
  EXPECT_THAT(plan_batches(kLengths, Mode::kBatch, 2, true),
              ElementsAre(Group{4, 0}, Group{2, 1}, Group{3}));
}

TEST(Batches, AreOneSentenceOrAll) {
  EXPECT_EQ(plan_batches(kLengths, Mode::kSingle, 2, false).size(), 5U);
  EXPECT_THAT(plan_batches(kLengths, Mode::kFull, 2, false), ElementsAre(Group{0, 1, 2, 3, 4}));
  EXPECT_TRUE(plan_batches({}, Mode::kFull, 2, false).empty());
}

TEST(Padding, IsWhatNoWordStandsFor) {
  EXPECT_DOUBLE_EQ((Padding{75, 100}).waste(), 0.25);
  EXPECT_DOUBLE_EQ(Padding{}.waste(), 0);
}

}  // namespace
}  // namespace encoder
