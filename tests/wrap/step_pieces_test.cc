// The pieces of a run that is being recorded, as stores.
#include "wrap/step_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "store/trace_reader.h"
#include "tests/store/testing/growing_run.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

using ::testing::ElementsAreArray;

constexpr Duration kInput(2'000'000);
constexpr Duration kCompute(6'000'000);

class StepPiecesTest : public ::testing::Test {
 protected:
  // Reads what is new, and writes it as a piece.
  std::unique_ptr<TraceReader> next_piece() {
    if (live_ == nullptr) live_ = *LiveRun::open(dir_ / "run.db", 4 * kLivePhases);
    pieces_.add(**live_->refresh());
    const auto path = dir_ / ("piece" + std::to_string(++count_) + ".db").c_str();
    EXPECT_TRUE(pieces_.write(path, live_->recording()).ok());
    pieces_.clear();
    return *TraceReader::open(path);
  }
  static std::vector<std::int64_t> numbers(const TraceReader& piece) {
    std::vector<std::int64_t> numbers;
    const Analysis analysis = *piece.analysis();
    for (const Step& step : analysis.steps) numbers.push_back(step.number);
    return numbers;
  }
  static std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(last - first + 1));
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
  }

  TempDir dir_;
  GrowingRun run_{dir_ / "run.db"};
  StepPieces pieces_{dir_ / "run.db"};
  std::unique_ptr<LiveRun> live_;
  int count_ = 0;
};

TEST_F(StepPiecesTest, EachStepIsInOnePiece) {
  run_.steps(50, kInput, kCompute);
  // The last step ends when the next one waits for its batch.
  EXPECT_THAT(numbers(*next_piece()), ElementsAreArray(range(1, 49)));
  run_.steps(30, kInput, kCompute);
  EXPECT_THAT(numbers(*next_piece()), ElementsAreArray(range(50, 79)));
}

TEST_F(StepPiecesTest, APieceOfAnyLengthHasTheNumbersOfTheRun) {
  run_.steps(3000, kInput, kCompute);
  next_piece();
  run_.steps(3000, kInput, kCompute);
  EXPECT_THAT(numbers(*next_piece()), ElementsAreArray(range(3000, 5999)));
}

TEST_F(StepPiecesTest, ALoopWithoutANewStepHasItsLastOneAgain) {
  run_.steps(50, kInput, kCompute);
  next_piece();
  EXPECT_THAT(numbers(*next_piece()), ElementsAreArray({49}));
}

TEST_F(StepPiecesTest, APieceNamesItsRunAndHasItsTimes) {
  run_.steps(50, kInput, kCompute);
  const auto piece = next_piece();
  EXPECT_EQ(piece->meta(kPieceOfMeta), (dir_ / "run.db").string());
  ASSERT_EQ(piece->processes().size(), 1U);
  EXPECT_EQ(piece->processes()[0].pid, 7);
  const Step step = piece->analysis()->steps.back();
  EXPECT_EQ(step.dur, kInput + kCompute);
  EXPECT_TRUE(step.steady);
  Duration input{0};
  for (const StepTime& time : step.times)
    if (time.category == Category::kInput) input += time.exposed;
  EXPECT_EQ(input, kInput);
}

TEST_F(StepPiecesTest, OnlyTheFirstStepsOfTheRunAreWarmUp) {
  run_.steps(50, kInput, kCompute);
  EXPECT_FALSE(next_piece()->analysis()->steps.front().steady);
  run_.steps(4000, kInput, kCompute);
  const Analysis later = *next_piece()->analysis();
  for (const Step& step : later.steps) EXPECT_TRUE(step.steady);
}

TEST_F(StepPiecesTest, ALoopWithInferredStepsHasThoseOfTheLatestFrame) {
  run_.rounds(60, kInput, kCompute);
  const std::vector<std::int64_t> first = numbers(*next_piece());
  ASSERT_GT(first.size(), 50U);
  EXPECT_THAT(first, ElementsAreArray(range(1, first.back())));
  run_.rounds(40, kInput, kCompute);
  const auto second = next_piece();
  // From 1 again, so that they replace the earlier ones in the lake.
  EXPECT_THAT(numbers(*second), ElementsAreArray(range(1, numbers(*second).back())));
  EXPECT_GT(numbers(*second).size(), 90U);
  const Analysis analysis = *second->analysis();
  EXPECT_EQ(analysis.steps.back().dur, kInput + kCompute);
  for (const Step& step : analysis.steps) EXPECT_TRUE(step.steady);
  EXPECT_EQ(analysis.verdicts.size(), 1U);
}

TEST_F(StepPiecesTest, InferredStepsAreLeftOutOnceTheLoopHasMarks) {
  run_.rounds(60, kInput, kCompute);
  next_piece();
  EXPECT_TRUE(pieces_.empty());
  run_.steps(50, kInput, kCompute);
  const auto piece = next_piece();
  EXPECT_THAT(numbers(*piece), ElementsAreArray(range(1, 49)));
  const Analysis analysis = *piece->analysis();
  for (const Step& step : analysis.steps) EXPECT_NE(step.marker, StepMarker::kInferred);
}

TEST_F(StepPiecesTest, AFileThatIsThereIsKept) {
  run_.steps(50, kInput, kCompute);
  next_piece();
  EXPECT_FALSE(pieces_.write(dir_ / "run.db", live_->recording()).ok());
}

}  // namespace
}  // namespace stepscope::testing
