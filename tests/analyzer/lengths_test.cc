// The marks of lengths, and what they say of padding.
#include "analyzer/serving/lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/serving/op_facts.h"
#include "tests/analyzer/advice_run.h"

namespace stepscope::testing {
namespace {

using ::testing::ElementsAre;

TEST(Lengths, AMarkIsReadAsItWasWritten) {
  const auto batch = parse_lengths("lengths 12 7 33");
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->lengths, ElementsAre(12, 7, 33));
  EXPECT_EQ(batch->longest(), 33);
  EXPECT_EQ(batch->content(), 52);
  const auto padded = parse_lengths("lengths/128 12 7");
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->longest(), 128);
}

TEST(Lengths, AnyOtherTextIsNoMark) {
  for (const char* text :
       {"", "lengths", "lengths ", "lengths x", "lengths 1,2", "lengths/ 3", "lengths/8",
        "lengths -3", "lengths 99999999999999999999", "lengthy 3", "lengths 4 ", "lengths 4\n"}) {
    EXPECT_FALSE(parse_lengths(text)) << text;
  }
}

TEST(Lengths, PaddingIsWhatIsComputedBeyondTheContent) {
  // 2 × 10, 2 × 10: 24 of 40 are content. Sorted: 2 × 2, 2 × 10; all of both.
  const PaddingUse use = padding_use({{0, {10, 2}, 0}, {1, {2, 10}, 0}});
  EXPECT_EQ(use.samples, 4);
  EXPECT_DOUBLE_EQ(use.padding_share(), 0.4);
  EXPECT_DOUBLE_EQ(use.sorted.elements, 24);
  EXPECT_DOUBLE_EQ(use.sorted.pairs, 2 * 4 + 2 * 100);
  EXPECT_DOUBLE_EQ(use.computed.pairs, 4 * 100);
}

TEST(Lengths, BucketsSortOnlyAmongTheirOwn) {
  std::vector<BatchLengths> batches(2 * kBucket);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    // The first bucket alternates between 1 and 3, the second has nothing but 5.
    batches[i].lengths =
        i < kBucket ? std::vector<std::int64_t>{1, 3} : std::vector<std::int64_t>{5, 5};
  }
  const PaddingUse use = padding_use(batches);
  EXPECT_DOUBLE_EQ(use.computed.elements, kBucket * 6 + kBucket * 10);
  EXPECT_DOUBLE_EQ(use.bucketed.elements, kBucket * 4 + kBucket * 10) << "no padding is left";
}

TEST(Lengths, AMarkIsNoScopeOfTheProgram) {
  Loop loop{.steps = 20, .input = kMs / 10, .rest = 5 * kMs, .trains = false};
  loop.more = [](RecordingBuilder& builder, ThreadId main, int, std::int64_t at) {
    builder.phase(main, PhaseKind::kScope, at - 2 * kMs, at - 2 * kMs + 1000, 0, "lengths 3 4");
    builder.phase(main, PhaseKind::kScope, at - kMs, at - kMs + 1000, 0, "lengths 5");
    return at;
  };
  RecordingBuilder builder = record(loop);
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  const LoopReport& found = report->loops.at(0);
  EXPECT_EQ(share_of(found.shares, Category::kOther), 0);
  const auto calls = static_cast<std::int64_t>(found.analysed.size());
  EXPECT_EQ(found.padding.batches, calls) << "both marks of a step are one batch; no warm-up";
  EXPECT_EQ(found.padding.samples, 3 * calls);
  EXPECT_EQ(found.unit(), std::string("call"));
}

TEST(OpFacts, TheLeadingDimensionIsThatOfAMatrixOrMore) {
  EXPECT_EQ(leading_dimension("[[1,32,64],[64,64]]"), 1);
  EXPECT_EQ(leading_dimension("[[64,784],[128]]"), 64);
  for (const char* none :
       {"", "[]", "[[]]", "[[64]]", "[[[2,3]]]", "[[x,3]]", "[[99999999999999999999,1]]"})
    EXPECT_EQ(leading_dimension(none), std::nullopt) << none;
}

}  // namespace
}  // namespace stepscope::testing
