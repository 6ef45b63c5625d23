// From events in any order to rows as a store has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analyzer/import/backward_passes.h"
#include "analyzer/import/op_nester.h"
#include "analyzer/import/time_sorter.h"
#include "tests/store/assert_ok.h"

namespace stepscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Row {
  SessionTime start;
  Duration dur{0};
  std::uint32_t rank = 0;
  int tag = 0;
};
struct RowRank {
  std::uint32_t operator()(const Row& row) const { return row.rank; }
};
using Sorter = TimeSorter<Row, RowRank>;

Row row(std::int64_t start, std::int64_t dur = 0, std::uint32_t rank = 0, int tag = 0) {
  return {session_time(start), Duration(dur), rank, tag};
}

std::vector<Row> merged(Sorter& sorter) {
  std::vector<Row> rows;
  EXPECT_OK(sorter.merge([&rows](const Row& r) {
    rows.push_back(r);
    return Status();
  }));
  return rows;
}

std::vector<std::int64_t> starts(const std::vector<Row>& rows) {
  std::vector<std::int64_t> result;
  for (const Row& r : rows) result.push_back(to_ns(r.start));
  return result;
}

TEST(TimeSorter, BringsAnyOrderIntoThatOfTheStarts) {
  std::mt19937 random(3);
  for (const std::size_t run_rows : {1U, 2U, 7U, 100U, 5000U}) {
    SpillFile file(std::filesystem::temp_directory_path());
    Sorter sorter(file, run_rows * sizeof(Row));
    std::vector<std::int64_t> expected;
    for (int i = 0; i < 3000; ++i) {
      const auto start = static_cast<std::int64_t>(random() % 1000);
      ASSERT_OK(sorter.add(row(start)));
      expected.push_back(start);
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(sorter.count(), 3000);
    EXPECT_EQ(starts(merged(sorter)), expected) << run_rows;
  }
}

TEST(TimeSorter, ParentsComeBeforeChildrenAndEqualOnesByRank) {
  SpillFile file(std::filesystem::temp_directory_path());
  Sorter sorter(file, 2 * sizeof(Row));
  // Listed by end, as traces of 2021 do.
  for (const Row& r : {row(5, 1, 3, 1), row(5, 4, 2, 2), row(5, 4, 1, 3), row(0, 10, 0, 4)}) {
    ASSERT_OK(sorter.add(r));
  }
  std::vector<int> tags;
  for (const Row& r : merged(sorter)) tags.push_back(r.tag);
  EXPECT_THAT(tags, ElementsAre(4, 3, 2, 1));
}

TEST(TimeSorter, MovesEachSourceByItsOwnClock) {
  SpillFile file(std::filesystem::temp_directory_path());
  Sorter sorter(file, 2 * sizeof(Row));
  for (const int start : {1, 2, 3}) ASSERT_OK(sorter.add(row(start)));
  ASSERT_OK(sorter.end_source(Duration(100)));
  for (const int start : {3, 1, 2}) ASSERT_OK(sorter.add(row(start)));
  ASSERT_OK(sorter.end_source(Duration(99)));
  EXPECT_THAT(starts(merged(sorter)), ElementsAre(100, 101, 101, 102, 102, 103));
}

TEST(TimeSorter, LeavesNothingBehindAndSaysWhereItCannotWrite) {
  SpillFile file("/nonexistent");
  Sorter sorter(file, sizeof(Row));
  expect_error(sorter.add(row(1)), ErrorKind::kIo, "/nonexistent");
}

constexpr ThreadId kMain{1};
constexpr ThreadId kAutograd{2};

Op op(ThreadId thread, std::uint32_t name, std::int64_t start, std::int64_t end,
      OpScope scope = OpScope::kFunction) {
  Op result;
  result.thread = thread;
  result.name = static_cast<StringId>(name);
  result.start = session_time(start);
  result.dur = Duration(end - start);
  result.scope = scope;
  return result;
}

// "name start-end self depth", in the order in which they end.
std::vector<std::string> nested(const std::vector<Op>& ops, std::int64_t* cut = nullptr) {
  std::vector<std::string> lines;
  OpNester nester([&lines](const Op& o) {
    lines.push_back(std::to_string(static_cast<std::uint32_t>(o.name)) + " " +
                    std::to_string(to_ns(o.start)) + "-" + std::to_string(to_ns(o.start + o.dur)) +
                    " " + std::to_string(to_ns(o.self)) + " " + std::to_string(o.depth));
    return Status();
  });
  for (const Op& o : ops) EXPECT_OK(nester.begin(o));
  EXPECT_OK(nester.end());
  if (cut != nullptr) *cut = nester.cut();
  return lines;
}

TEST(OpNester, EndsOpsInOrderWithSelfTimeAndDepth) {
  EXPECT_THAT(nested({op(kMain, 1, 0, 100), op(kMain, 2, 10, 40), op(kMain, 3, 20, 30),
                      op(kMain, 4, 40, 60), op(kMain, 5, 100, 110)}),
              ElementsAre("3 20-30 10 2", "2 10-40 20 1", "4 40-60 20 1", "1 0-100 50 0",
                          "5 100-110 10 0"));
}

TEST(OpNester, KeepsThreadsApartAndInterleavesThemByTime) {
  EXPECT_THAT(nested({op(kMain, 1, 0, 100), op(kAutograd, 2, 10, 200), op(kMain, 3, 150, 160)}),
              ElementsAre("1 0-100 100 0", "3 150-160 10 0", "2 10-200 190 0"));
}

TEST(OpNester, CutsWhatOutlivesItsParentAndNoSelfTimeIsNegative) {
  std::int64_t cut = 0;
  EXPECT_THAT(
      nested({op(kMain, 1, 0, 10000), op(kMain, 2, 5000, 90000), op(kMain, 3, 6000, 9000)}, &cut),
      ElementsAre("3 6000-9000 3000 2", "2 5000-10000 2000 1", "1 0-10000 5000 0"));
  EXPECT_EQ(cut, 1);
  // A µs is what whole µs round away.
  EXPECT_THAT(nested({op(kMain, 1, 0, 10000), op(kMain, 2, 5000, 11000)}, &cut),
              ElementsAre("2 5000-10000 5000 1", "1 0-10000 5000 0"));
  EXPECT_EQ(cut, 0);
}

TEST(OpNester, AnyIntervalsMakeATree) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<Op> ops;
    for (int i = 0; i < 60; ++i) {
      const auto start = static_cast<std::int64_t>(random() % 500);
      const auto thread = static_cast<ThreadId>(1 + random() % 3);
      ops.push_back(op(thread, 1, start, start + static_cast<std::int64_t>(random() % 200)));
    }
    std::stable_sort(ops.begin(), ops.end(), [](const Op& a, const Op& b) {
      return a.start != b.start ? a.start < b.start : a.dur > b.dur;
    });
    std::map<ThreadId, std::int64_t> last_end, self, covered;
    std::size_t count = 0;
    OpNester nester([&](const Op& o) {
      ++count;
      EXPECT_GE(to_ns(o.self), 0);
      EXPECT_LE(o.self, o.dur);
      EXPECT_GE(to_ns(o.start + o.dur), last_end[o.thread]);
      last_end[o.thread] = to_ns(o.start + o.dur);
      self[o.thread] += to_ns(o.self);
      if (o.depth == 0) covered[o.thread] += to_ns(o.dur);
      return Status();
    });
    for (const Op& o : ops) ASSERT_OK(nester.begin(o));
    ASSERT_OK(nester.end());
    EXPECT_EQ(count, ops.size());
    EXPECT_EQ(self, covered);  // the self times of a tree are its root's time
  }
}

std::vector<std::string> passes(const std::vector<Op>& ops) {
  std::vector<std::string> lines;
  BackwardPasses passes([&lines](const Phase& phase) {
    EXPECT_EQ(phase.kind, PhaseKind::kBackward);
    EXPECT_EQ(phase.thread, kMain);
    lines.push_back(std::to_string(to_ns(phase.start)) + "-" +
                    std::to_string(to_ns(phase.start + phase.dur)));
    return Status();
  });
  passes.add_loop(kMain, {kMain, kAutograd});
  OpNester nester([](const Op&) { return Status(); });
  for (const Op& o : ops) {
    EXPECT_OK(nester.begin(o));
    EXPECT_OK(passes.begin(o, nester.in_node(o.thread)));
  }
  EXPECT_OK(passes.end());
  return lines;
}

constexpr OpScope kNode = OpScope::kBackwardFunction;

TEST(BackwardPasses, GoFromTheFirstNodeToTheLastUntilTheLoopGoesOn) {
  EXPECT_THAT(passes({op(kMain, 1, 0, 10), op(kAutograd, 2, 20, 30, kNode),
                      op(kAutograd, 3, 22, 25), op(kAutograd, 2, 32, 50, kNode),
                      op(kMain, 1, 60, 70), op(kAutograd, 2, 80, 90, kNode)}),
              ElementsAre("20-50", "80-90"));
}

TEST(BackwardPasses, OfNodesOnTheLoopsOwnThreadTheOpsInsideEndNothing) {
  EXPECT_THAT(passes({op(kMain, 1, 0, 10), op(kMain, 2, 20, 40, kNode), op(kMain, 3, 25, 30),
                      op(kMain, 2, 41, 60, kNode), op(kMain, 1, 70, 75)}),
              ElementsAre("20-60"));
}

TEST(BackwardPasses, EndWhereTheLoopGoesOnMeanwhile) {
  EXPECT_THAT(passes({op(kAutograd, 2, 20, 100, kNode), op(kMain, 1, 50, 60)}),
              ElementsAre("20-50"));
}

TEST(BackwardPasses, AreNoneWithoutNodes) {
  EXPECT_THAT(passes({op(kMain, 1, 0, 10), op(kAutograd, 1, 20, 30)}), IsEmpty());
}

}  // namespace
}  // namespace stepscope
