// What is bounded, and that the rest takes no more than it must, counted in operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/attribute/nesting.h"
#include "analyzer/attribute/op_run.h"
#include "analyzer/attribute/span.h"
#include "analyzer/attribute/step_account.h"
#include "analyzer/verdict/deaths.h"
#include "store/table_names.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {
namespace {

using Ranges = std::vector<TimeRange>;

TimeRange range(std::int64_t start, std::int64_t end) {
  return {session_time(start), session_time(end)};
}

// Stretches and the innermost item of each, as the walk finds them. Counts its looks at items.
struct Walk {
  explicit Walk(const Ranges& items, TimeRange frame) {
    Innermost innermost;
    for_each_nested_stretch(
        std::span<const TimeRange>(items), frame,
        [this](TimeRange item) {
          ++looks;
          return item;
        },
        [&](std::size_t item, const OpenItems&) { innermost.add(item); },
        [&](TimeRange stretch, const OpenItems& open) {
          for (std::int64_t t = to_ns(stretch.start); t < to_ns(stretch.end) && t < kMaxSeen; ++t)
            at[t] = innermost.of(open);
          ++stretches;
        });
  }

  static constexpr std::int64_t kMaxSeen = 1000;
  std::map<std::int64_t, std::size_t> at;  // by ns
  std::size_t looks = 0, stretches = 0;
};

TEST(Nesting, IsWhatALookAtEachInstantFinds) {
  std::mt19937 random(11);
  const auto pick = [&](unsigned below) { return static_cast<std::int64_t>(random() % below); };
  for (int round = 0; round < 2000; ++round) {
    Ranges items;
    for (std::int64_t i = pick(12); i >= 0; --i) {
      const std::int64_t start = pick(30);
      items.push_back(range(start, start + pick(15)));
    }
    std::stable_sort(items.begin(), items.end(), [](TimeRange a, TimeRange b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    const TimeRange frame = range(pick(10), 20 + pick(20));
    std::map<std::int64_t, std::size_t> expected;
    for (std::int64_t t = to_ns(frame.start); t < to_ns(frame.end); ++t) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].contains(session_time(t))) expected[t] = i;  // the last to begin
      }
    }
    ASSERT_EQ(Walk(items, frame).at, expected) << "round " << round;
  }
}

// Each in the one before, and each overlapping all that are open: at either a look at all that is
// open would take n * n / 2 looks.
TEST(Nesting, LooksAtEachItemAFewTimes) {
  constexpr std::int64_t kItems = 20'000;
  Ranges nested, overlapping;
  for (std::int64_t i = 0; i < kItems; ++i) {
    nested.push_back(range(i, 4 * kItems - i));
    overlapping.push_back(range(i, 2 * kItems + i));
  }
  for (const Ranges& items : {nested, overlapping}) {
    const Walk walk(items, range(0, 5 * kItems));
    EXPECT_GE(walk.stretches, static_cast<std::size_t>(kItems));
    EXPECT_LE(walk.looks, 4 * static_cast<std::size_t>(kItems));
  }
}

TEST(Nesting, APathIsThatOfTheOpsAround) {
  const auto op = [](std::int64_t start, std::int64_t end, std::uint32_t name, OpClass kind) {
    return BufferedOp{session_time(start), Duration(end - start), StringId{name}, kind};
  };
  const std::vector<BufferedOp> ops = {
      op(0, 100, 1, OpClass::kWork), op(10, 60, 2, OpClass::kLabel), op(20, 50, 3, OpClass::kWork),
      op(70, 90, 3, OpClass::kWork)};
  OpPaths paths;
  std::vector<std::string> found;
  for (const OpRun& run : flatten_ops(ops, range(0, 200), Duration(0), &paths)) {
    std::string text;
    for (OpPath at = run.path; at != OpPath::kTop; at = paths.parent(at))
      text.insert(0, std::to_string(static_cast<std::uint32_t>(paths.name(at))));
    found.push_back(text + "@" + std::to_string(to_ns(run.range.start)));
  }
  EXPECT_EQ(found,
            (std::vector<std::string>{"1@0", "12@10", "123@20", "12@50", "1@60", "13@70", "1@90"}));
}

TEST(Spans, AScopeAroundStepsIsLookedAtWhereItEnds) {
  std::vector<Phase> phases;
  Loop loop;
  constexpr std::int64_t kSteps = 50;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    loop.steps.push_back(range(100 * i, 100 * (i + 1)));
    // Scope i ends in the middle of step i, and covers all before it.
    phases.push_back({ThreadId{1}, PhaseKind::kScope, StringId{static_cast<std::uint32_t>(i + 1)},
                      session_time(0), Duration(100 * i + 50), Duration(0)});
  }
  std::reverse(phases.begin(), phases.end());  // the longest is the outermost
  const auto spans = lay_out_spans(phases, loop);
  ASSERT_EQ(spans.size(), static_cast<std::size_t>(kSteps));
  for (std::size_t i = 0; i < spans.size(); ++i) {
    ASSERT_EQ(spans[i].size(), 2u);
    EXPECT_EQ(spans[i][0].label, StringId{static_cast<std::uint32_t>(i + 1)});
    EXPECT_EQ(spans[i][1].label, StringId::kNone) << "the others cover the step";
  }
}

TEST(TableNames, BeyondTheLimitNamesShareARow) {
  constexpr std::uint32_t kNames = 500'000;
  TableNames names;
  RowsByName<OpCost> rows;
  for (std::uint32_t i = 1; i <= kNames; ++i) {
    for (const std::uint32_t name : {i, i % 100 + 1, i})
      ++rows.at(names.row_name(StringId{name}), PhaseKind::kForward).calls;
  }
  ASSERT_EQ(rows.rows().size(), kMaxNames + 1);
  EXPECT_EQ(names.merged(), static_cast<std::int64_t>(kNames - kMaxNames));
  std::int64_t calls = 0;
  for (const OpCost& row : rows.rows()) calls += row.calls;
  EXPECT_EQ(calls, std::int64_t{3} * kNames) << "nothing is lost";
}

TEST(Limits, OpsOfEndlessNamesHaveABoundedTableThatAddsUp) {
  RecordingBuilder builder;
  const ThreadId main = builder.thread("main");
  constexpr std::int64_t kOps = 300, kSteps = 30;  // of new names each
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const std::int64_t start = i * 100'000;
    builder.phase(main, PhaseKind::kInput, start, start + 10);
    for (std::int64_t j = 0; j < kOps; ++j)
      builder.op(main, "op " + std::to_string(i * kOps + j), start + 100 * j + 20,
                 start + 100 * j + 70);
    builder.phase(main, PhaseKind::kBackward, start + 60'000, start + 70'000);
    builder.phase(main, PhaseKind::kOptimizer, start + 80'000, start + 90'000);
  }
  AnalyzeOptions options;
  options.op_samples = true;
  const auto report = analyze(builder.recording(), options);
  ASSERT_TRUE(report.ok());
  const LoopReport& loop = report->loops.at(0);
  EXPECT_EQ(loop.merged_ops, kSteps * kOps - static_cast<std::int64_t>(kMaxNames));
  EXPECT_LE(loop.ops.size(), kMaxNames + 1);
  const std::string merged = "(" + std::to_string(loop.merged_ops) + " further names)";
  std::int64_t calls = 0, sampled = 0, of_merged = 0;
  for (const OpRow& row : loop.ops) {
    calls += row.calls;
    if (row.name == merged) of_merged += row.calls;
    for (const OpSample& sample : row.samples) sampled += sample.calls;
  }
  EXPECT_EQ(calls, static_cast<std::int64_t>(loop.analysed.size()) * kOps);
  EXPECT_EQ(sampled, calls);
  EXPECT_GT(of_merged, 0);
}

TEST(Limits, TheLongestLoopsAreAnalysed) {
  RecordingBuilder builder;
  constexpr std::int64_t kLoops = kMaxLoops + 5;
  for (std::int64_t i = 0; i < kLoops; ++i) {
    const ThreadId thread = builder.thread("t" + std::to_string(i), i + 1);
    const std::int64_t step = i == 7 ? 10 : 100;  // the eighth is the shortest
    for (std::int64_t k = 0; k < 3; ++k) {
      builder.phase(thread, PhaseKind::kBackward, k * step, k * step + 2);
      builder.phase(thread, PhaseKind::kOptimizer, k * step + 4, k * step + 8);
    }
  }
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->loops.size(), kMaxLoops);
  EXPECT_EQ(report->loops_left_out, 5);
  for (const LoopReport& loop : report->loops) EXPECT_NE(loop.thread_name, "t7");
}

TEST(Limits, OfTooManyProcessesThoseThatEndedAreTold) {
  RecordingBuilder builder;
  constexpr auto kCount = static_cast<std::int64_t>(kMaxProcesses) + 10;
  for (std::int64_t i = 1; i <= kCount; ++i) builder.process(i);
  ProcessEnd end;
  end.process = ProcessId{static_cast<std::uint32_t>(kCount)};
  end.how = EndKind::kSignal;
  end.code = 9;
  builder.ends.push_back(end);
  const auto report = analyze(builder.recording());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->processes.size(), kMaxProcesses);
  EXPECT_EQ(report->processes_left_out, 10);
  EXPECT_EQ(report->processes.back().id, end.process);
  EXPECT_EQ(report->deaths.size(), 1u);
}

}  // namespace
}  // namespace stepscope::testing
