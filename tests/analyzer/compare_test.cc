// Comparisons of runs whose truth is known: what moved is found, the rest is noise, and what the
// steps do not show is not claimed.
#include "analyzer/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analyzer/compare/match_loops.h"
#include "present/comparison_notes.h"
#include "present/comparison_words.h"
#include "tests/analyzer/compared_runs.h"
#include "tests/random_runs.h"

namespace stepscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Pair = std::pair<std::size_t, std::size_t>;

const PartDifference& part(const std::vector<PartDifference>& parts, const std::string& name) {
  for (const PartDifference& p : parts) {
    if (p.name == name) return p;
  }
  ADD_FAILURE() << "no " << name;
  return parts.front();
}

std::set<std::string> ids(const Comparison& comparison) {
  std::set<std::string> result;
  for (const Note& note : comparison.notes) result.insert(note_id(note.kind));
  return result;
}

TEST(Compare, FindsWhatMovedAndCallsTheRestNoise) {
  std::mt19937 random(12);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 200, 0.3), 2, 3);
  b.loop().steps(correlated(random, 90, 0.3), 2, 1);
  const Comparison comparison = compare(a.report(), b.report());
  ASSERT_EQ(comparison.loops.size(), 1u);
  const LoopComparison& loop = comparison.loops[0];
  EXPECT_EQ(change_of(loop), "faster");
  EXPECT_NEAR(loop.mean.a.value, 5 * kMs, 0.1 * kMs) << "the warm-up step counts for nothing";
  EXPECT_NEAR(loop.mean.delta(), -2 * kMs, 0.1 * kMs);
  EXPECT_TRUE(part(loop.categories, "input").ns.changed);
  EXPECT_FALSE(part(loop.categories, "compute").ns.changed);
  EXPECT_NEAR(part(loop.categories, "input").share.delta(), 1.0 / 3 - 3.0 / 5, 1e-6);
  EXPECT_TRUE(part(loop.categories, "compute").share.changed) << "all of a step is 100 %";
  EXPECT_TRUE(part(loop.phases, "input").ns.changed);
  EXPECT_FALSE(part(loop.phases, "backward").ns.changed) << "there is none";
  EXPECT_EQ(loop.categories.size(), 2u) << "categories that neither has are left out";
  EXPECT_TRUE(comparison.notes.empty());
  EXPECT_THAT(answer_of(loop), StartsWith("B is 1.7 × faster: "));
  ASSERT_FALSE(reasons_of(loop).empty());
  EXPECT_THAT(reasons_of(loop).back(), HasSubstr("waiting for input"));
}

TEST(Compare, TheSameRunTwiceIsNoiseThroughout) {
  std::mt19937 random(13);
  RunBuilder a;
  const auto noise = correlated(random, 50, 0);
  a.loop().steps(noise, 2, 3).op("aten::mm", noise, 3);
  const Comparison comparison = compare(a.report(), a.report());
  const LoopComparison& loop = comparison.loops.at(0);
  EXPECT_EQ(change_of(loop), "noise");
  EXPECT_EQ(loop.mean.p, 1);
  for (const PartDifference& p : loop.categories) EXPECT_FALSE(p.ns.changed || p.share.changed);
  for (const CallDifference& call : loop.calls) EXPECT_FALSE(call.changed());
  EXPECT_TRUE(reasons_of(loop).empty());
  EXPECT_THAT(answer_of(loop), StartsWith("No difference beyond noise: "));
}

// Shares of equal steps differ by rounding only, however many steps there are.
TEST(Compare, RoundingIsNoDifference) {
  for (const std::size_t count : {7u, 30u, 49u, 101u}) {
    RunBuilder a, b;
    a.loop().steps(std::vector<double>(30, 1.0), 2.1, 3.3);
    b.loop().steps(std::vector<double>(count, 1.0), 2.1, 3.3);
    const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
    for (const PartDifference& p : loop.categories) {
      EXPECT_FALSE(p.ns.changed || p.share.changed) << p.name << " of " << count;
    }
  }
}

TEST(Compare, SwappingTheRunsTurnsTheSigns) {
  std::mt19937 random(14);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 2, 3);
  b.loop().steps(correlated(random, 70, 0), 2, 2);
  const auto there = compare(a.report(), b.report()).loops.at(0);
  const auto back = compare(b.report(), a.report()).loops.at(0);
  EXPECT_EQ(there.mean.delta(), -back.mean.delta());
  EXPECT_NEAR(there.mean.interval.low, -back.mean.interval.high, 1e-6);
  EXPECT_EQ(there.mean.p, back.mean.p);
  EXPECT_EQ(change_of(there), "faster");
  EXPECT_EQ(change_of(back), "slower");
}

// 80 ops and 4 figures of parts: one by one, 19 of 20 comparisons would show something.
TEST(Compare, ManyOpsOfLikeRunsRaiseHardlyAnAlarm) {
  if (kSanitized) GTEST_SKIP() << "a rate over thousands of cases";
  constexpr int kPairs = 120;
  std::mt19937 random(15);
  int with_ops = 0, with_parts = 0;
  for (int i = 0; i < kPairs; ++i) {
    RunBuilder a, b;
    a.loop().steps(correlated(random, 40, 0.2), 2, 3);
    b.loop().steps(correlated(random, 60, 0.2), 2, 3);
    for (int op = 0; op < 80; ++op) {
      const std::string name = "aten::op" + std::to_string(op);
      a.op(name, correlated(random, 40, 0.2, 0.3), 2);
      b.op(name, correlated(random, 60, 0.2, 0.3), 2);
    }
    const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
    const auto changed = [](const auto& row) { return row.ns.changed; };
    with_ops += std::any_of(loop.calls.begin(), loop.calls.end(), changed) ? 1 : 0;
    with_parts += std::any_of(loop.categories.begin(), loop.categories.end(), changed) ? 1 : 0;
  }
  EXPECT_LE(with_ops, 0.12 * kPairs);
  EXPECT_LE(with_parts, 0.12 * kPairs);
}

TEST(Compare, AnOpThatChangedIsFoundAmongMany) {
  std::mt19937 random(16);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 0.5, 0);
  b.loop().steps(correlated(random, 40, 0), 0.5, 0);
  for (int op = 0; op < 60; ++op) {
    const std::string name = "aten::op" + std::to_string(op);
    a.op(name, correlated(random, 40, 0, 0.3), 2);
    auto noise = correlated(random, 40, 0, 0.3);
    for (double& value : noise) value *= op == 33 ? 2 : 1;
    b.op(name, noise, op == 44 ? 3 : 2);
  }
  a.op("aten::gone", correlated(random, 40, 0), 5);
  b.op("aten::new", correlated(random, 40, 0), 7);
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  ASSERT_EQ(loop.calls.size(), 62u);
  std::set<std::string> found;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(loop.calls[i].matters()) << i;
    found.insert(loop.calls[i].name);
  }
  EXPECT_EQ(found, (std::set<std::string>{"aten::gone", "aten::new", "aten::op33", "aten::op44"}));
  EXPECT_EQ(loop.calls[0].name, "aten::new") << "the largest first";
  EXPECT_TRUE(loop.calls[0].is_new());
  EXPECT_FALSE(loop.calls[0].is_gone());
  EXPECT_EQ(loop.calls[0].calls.b.value, 7);
}

TEST(Compare, KernelsAreComparedApartFromOps) {
  std::mt19937 random(19);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 0.5, 0).op("aten::mm", correlated(random, 40, 0), 1);
  b.loop().steps(correlated(random, 40, 0), 0.5, 0).op("aten::mm", correlated(random, 40, 0), 1);
  for (const char* name : {"same", "other"}) {
    a.kernel(name, correlated(random, 40, 0), 20);
    b.kernel(name, correlated(random, 40, 0), 20);
  }
  a.kernel("volta_sgemm", correlated(random, 40, 0), 50);
  b.kernel("volta_h884gemm", correlated(random, 40, 0), 10);
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  ASSERT_EQ(loop.calls.size(), 1u);
  ASSERT_EQ(loop.kernels.size(), 4u);
  EXPECT_EQ(loop.kernels[0].kind, "kernel");
  EXPECT_EQ(loop.kernels[0].name, "volta_sgemm");
  EXPECT_TRUE(loop.kernels[0].is_gone());
  EXPECT_EQ(loop.kernels[1].name, "volta_h884gemm");
  EXPECT_TRUE(loop.kernels[1].is_new());
  EXPECT_EQ(loop.kernels[1].phase, "backward");
  EXPECT_FALSE(loop.kernels[2].changed());
  EXPECT_FALSE(loop.kernels[3].changed());
}

TEST(Compare, KernelsAreComparedOnlyWhereBothHaveADevice) {
  std::mt19937 random(20);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 1, 0).kernel("k", correlated(random, 40, 0), 5);
  b.loop().steps(correlated(random, 40, 0), 1, 0);
  EXPECT_TRUE(compare(a.report(), b.report()).loops.at(0).kernels.empty());
}

TEST(Compare, ARealTrifleIsMarkedAsOne) {
  std::mt19937 random(17);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 40, 0), 50, 0).op("aten::add", correlated(random, 40, 0), 1);
  b.loop().steps(correlated(random, 40, 0), 50, 0).op("aten::add", correlated(random, 40, 0), 9);
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  EXPECT_TRUE(loop.calls.at(0).changed());
  EXPECT_TRUE(loop.calls[0].trifle) << "8 µs of 50 ms";
  EXPECT_FALSE(loop.calls[0].matters());
}

TEST(Compare, SlowStepsAreToldFromTheUsualOnes) {
  std::mt19937 random(18);
  RunBuilder a, b;
  auto stalling = correlated(random, 200, 0, 0.01);
  for (std::size_t i = 0; i < stalling.size(); i += 10) stalling[i] *= 4;
  a.loop().steps(correlated(random, 200, 0, 0.01), 5, 0);
  b.loop().steps(stalling, 5, 0);
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  EXPECT_EQ(change_of(loop), "slower");
  EXPECT_FALSE(loop.median.changed);
  EXPECT_THAT(reasons_of(loop).at(0), StartsWith("The median step is unchanged"));
}

TEST(Compare, AMedianThatIsNotToldIsNotSaidToBeAsItWas) {
  LoopComparison loop;
  loop.mean = difference_of({218e6, 5e6, 60}, {103e6, 5e6, 60});
  loop.median = difference_of({193e6, 50e6, 60}, {77e6, 50e6, 60});
  ASSERT_TRUE(loop.mean.changed);
  ASSERT_FALSE(loop.median.changed);
  EXPECT_EQ(reasons_of(loop), std::vector<std::string>{});
  loop.median = difference_of({193e6, 2e6, 60}, {194e6, 2e6, 60});
  EXPECT_THAT(reasons_of(loop), ElementsAre(StartsWith("The median step is unchanged")));
}

TEST(Compare, OneStepTellsNothing) {
  RunBuilder a, b;
  a.loop().steps({1.0}, 2, 3);
  b.loop().steps({1.0, 1.01, 0.99}, 2, 1);
  const Comparison comparison = compare(a.report(), b.report());
  const LoopComparison& loop = comparison.loops.at(0);
  EXPECT_EQ(change_of(loop), "unknown");
  EXPECT_FALSE(loop.mean.changed);
  EXPECT_THAT(answer_of(loop), StartsWith("Too few steps"));
  EXPECT_TRUE(ids(comparison).contains("steps"));
}

TEST(Compare, LoopsThatNeverTrainAreToldInCalls) {
  RunBuilder a, b;
  a.loop().steps({1.0}, 2, 3);
  b.loop().steps({1.0}, 2, 1);
  const auto answer = [&] { return answer_of(compare(a.report(), b.report()).loops.at(0)); };
  a.report().loops[0].trains = false;
  EXPECT_THAT(answer(), HasSubstr(" a step in B"));
  b.report().loops[0].trains = false;
  EXPECT_THAT(answer(), HasSubstr(" a call in B"));
}

TEST(Compare, NothingToCompareIsNoLoop) {
  RunBuilder a, empty;
  a.loop().steps({1, 1, 1}, 2, 3);
  EXPECT_TRUE(compare(a.report(), empty.report()).loops.empty());
  EXPECT_TRUE(compare(empty.report(), empty.report()).loops.empty());
  EXPECT_THAT(compare(a.report(), empty.report()).only_in_a, ElementsAre(0u));
}

std::vector<LoopReport> loops_of_ranks(const std::vector<std::int64_t>& ranks) {
  std::vector<LoopReport> loops;
  for (const std::int64_t rank : ranks) {
    loops.emplace_back();
    loops.back().rank = rank;
  }
  return loops;
}

TEST(MatchLoops, ByRankThenByOrder) {
  auto match = match_loops(loops_of_ranks({1, 0, 2}), loops_of_ranks({0, 1, 2}));
  EXPECT_THAT(match.pairs, ElementsAre(Pair{0, 1}, Pair{1, 0}, Pair{2, 2}));
  match = match_loops(loops_of_ranks({-1, -1}), loops_of_ranks({-1, -1, -1}));
  EXPECT_THAT(match.pairs, ElementsAre(Pair{0, 0}, Pair{1, 1}));
  EXPECT_THAT(match.only_in_b, ElementsAre(2u));
  match = match_loops(loops_of_ranks({-1}), loops_of_ranks({3, 0}));
  EXPECT_THAT(match.pairs, ElementsAre(Pair{0, 0})) << "without ranks of its own: the first";
  match = match_loops(loops_of_ranks({0, 0, 1}), loops_of_ranks({1, 0}));
  EXPECT_THAT(match.pairs, ElementsAre(Pair{0, 1}, Pair{2, 0}));
  EXPECT_THAT(match.only_in_a, ElementsAre(1u));
}

TEST(MatchLoops, ByDeviceWithinARank) {
  const auto on = [](std::vector<std::int64_t> devices) {
    std::vector<LoopReport> loops;
    for (const std::int64_t number : devices) {
      loops.emplace_back();
      if (number < 0) continue;
      loops.back().device = DeviceId(7);
      loops.back().device_number = number;
    }
    return loops;
  };
  EXPECT_THAT(match_loops(on({1, 0}), on({0, 1})).pairs, ElementsAre(Pair{0, 1}, Pair{1, 0}));
  EXPECT_THAT(match_loops(on({-1}), on({3})).pairs, ElementsAre(Pair{0, 0}))
      << "the same loop, moved to a device";
  EXPECT_THAT(match_loops(on({0}), on({-1, 0})).pairs, ElementsAre(Pair{0, 1}));
}

TEST(Notes, SayWhatMakesRunsHardToCompare) {
  const std::vector<double> noise(30, 1.0);
  const auto notes_with = [&](const auto& change) {
    RunBuilder a, b;
    a.loop().steps(noise, 2, 3);
    b.loop().steps(noise, 2, 3);
    change(b);
    return ids(compare(a.report(), b.report()));
  };
  using Ids = std::set<std::string>;
  EXPECT_EQ(notes_with([](RunBuilder&) {}), Ids{});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().run.torch_version = "1.13.1"; }),
            Ids{"torch-version"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().run.hosts = {"other"}; }), Ids{"hosts"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().run.cpu_count = 8; }), Ids{"cores"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().losses = {{ThreadId(1), "op", 3}}; }),
            Ids{"losses"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].marker = StepMarker::kUser; }),
            Ids{"marker"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].ops_recorded = false; }),
            Ids{"tier"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].input.inferred = true; }),
            Ids{"input"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].analysed.resize(5); }),
            Ids{"steps"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().run.being_recorded = true; }),
            Ids{"recording"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().deaths = {0}; }), Ids{"died"});
  EXPECT_EQ(notes_with([&](RunBuilder& b) { b.loop().steps(noise, 1, 1); }), Ids{"loops"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].rank = 0; }), Ids{"ranks"});
  EXPECT_EQ(notes_with([](RunBuilder& b) { b.report().loops[0].device = DeviceId(1); }),
            Ids{"device"});
}

// The text of the one note on what was run; "" without one.
std::string program_note(const RunFacts& a, const RunFacts& b) {
  const std::vector<double> noise(30, 1.0);
  RunBuilder one, other;
  one.loop().steps(noise, 2, 3);
  other.loop().steps(noise, 2, 3);
  one.report().run = a;
  other.report().run = b;
  std::string text;
  const Comparison comparison = compare(one.report(), other.report());
  for (const Note& note : comparison.notes) {
    if (note.kind == NoteKind::kProgram || note.kind == NoteKind::kSetup)
      text += note_text(note, one.report(), other.report(), comparison);
  }
  return text;
}

RunFacts run_of(const std::vector<std::string>& arguments) {
  RunFacts run;
  run.program = "train.py";
  run.arguments = arguments;
  run.source = {"/src", std::string(40, 'a'), false};
  run.environment = {"OMP_NUM_THREADS=4"};
  return run;
}

TEST(ProgramNote, SaysInOneLineWhatElseWasRun) {
  const RunFacts a = run_of({"python", "train.py", "--batch", "8", "--lr", "1"});
  EXPECT_EQ(program_note(a, a), "");

  RunFacts b = run_of({"python", "train.py", "--batch", "16", "--lr", "1"});
  EXPECT_EQ(program_note(a, b), "A and B differ in arguments (--batch 8 and --batch 16).");
  b = run_of({"python", "train.py", "--batch", "8", "--lr", "1", "--amp"});
  EXPECT_EQ(program_note(a, b), "A and B differ in arguments (none and --amp).");

  b = a;
  b.source.commit = std::string(40, 'b');
  b.source.dirty = true;
  b.environment = {"MKL_NUM_THREADS=2", "OMP_NUM_THREADS=1"};
  EXPECT_EQ(program_note(a, b),
            "A and B differ in commits (aaaaaaa and bbbbbbb, modified), MKL_NUM_THREADS (unset and "
            "2), OMP_NUM_THREADS (4 and 1).");

  b.program = "eval.py";
  EXPECT_THAT(program_note(a, b), ::testing::HasSubstr("A is a run of \"train.py\", B of "
                                                       "\"eval.py\"; they also differ in"));
  b = a;
  b.program = "eval.py";
  b.arguments = {"python", "eval.py"};
  EXPECT_EQ(program_note(a, b),
            "A is a run of \"train.py\", B of \"eval.py\": different programs.");
}

TEST(ProgramNote, UncommittedChangesAreADifference) {
  const RunFacts a = run_of({"train.py"});
  RunFacts b = a;
  b.source.dirty = true;
  EXPECT_EQ(program_note(a, b), "A and B differ in uncommitted changes (in B).");
  EXPECT_EQ(program_note(b, b), "A and B differ in uncommitted changes (in both).");
  b.source.dirty = std::nullopt;
  EXPECT_EQ(program_note(a, b), "");
}

TEST(ProgramNote, OfARunThatDoesNotSayNothingIsSaid) {
  const RunFacts a = run_of({"train.py"});
  EXPECT_EQ(program_note(a, RunFacts()), "");
  RunFacts b = a;
  b.source = {};
  EXPECT_EQ(program_note(a, b), "");
}

TEST(ProgramNote, ManyVariablesAreCounted) {
  const RunFacts a = run_of({"train.py"});
  RunFacts b = a;
  b.environment = {"A_=1", "B_=1", "C_=1", "D_=1", "no value"};
  EXPECT_THAT(program_note(a, b), ::testing::HasSubstr("and 2 further variables"));
}

// Steps of 2 ms and 8 ms, which hold the given samples; the mark of a batch is what says so.
LoopComparison compare_batches(std::int64_t samples_a, std::int64_t samples_b) {
  std::mt19937 random(3);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 100, 0.3), 2, 0);
  b.loop().steps(correlated(random, 100, 0.3), 8, 0);
  const auto mark = [](RunBuilder& run, std::int64_t samples) {
    run.report().loops[0].padding.batches = samples > 0 ? 100 : 0;
    run.report().loops[0].padding.samples = samples;
  };
  mark(a, samples_a);
  mark(b, samples_b);
  return compare(a.report(), b.report()).loops.at(0);
}

TEST(Compare, SamplesTellWhereStepsHoldDifferentNumbersOfThem) {
  const LoopComparison loop = compare_batches(100, 1600);
  ASSERT_TRUE(loop.sample);
  EXPECT_NEAR(loop.sample->a.value, loop.mean.a.value, 1);
  EXPECT_NEAR(loop.sample->b.value, loop.mean.b.value / 16, 1);
  EXPECT_TRUE(loop.sample->changed);
  EXPECT_GT(loop.mean.delta(), 0);
  EXPECT_EQ(change_of(loop), "faster");
  EXPECT_THAT(answer_of(loop),
              AllOf(StartsWith("B is 3.9 × faster: "), HasSubstr(" a sample instead of ")));
  EXPECT_EQ(reasons_of(loop), std::vector<std::string>{"A step has 1 sample in A and 16 samples in "
                                                       "B; the other figures are per step."});
}

// A step of 16 samples is as good as 16 of one: it is not taken to vary as much as a single sample.
TEST(Compare, AFewLargeBatchesAreEnoughToTell) {
  std::mt19937 random(5);
  RunBuilder a, b;
  a.loop().steps(correlated(random, 320, 0.3, 0.25), 2, 0);
  b.loop().steps(correlated(random, 18, 0.3, 0.06), 16, 0);
  a.report().loops[0].padding.batches = a.report().loops[0].padding.samples = 320;
  b.report().loops[0].padding.batches = 18;
  b.report().loops[0].padding.samples = 18 * 16;
  const LoopComparison loop = compare(a.report(), b.report()).loops.at(0);
  EXPECT_EQ(change_of(loop), "faster") << answer_of(loop);
}

TEST(Compare, StepsTellWhereSamplesAreAlikeOrNotKnown) {
  for (const auto& [a, b] : {std::pair{1600, 1600}, {1600, 1590}, {0, 1600}, {1600, 0}, {0, 0}}) {
    const LoopComparison loop = compare_batches(a, b);
    EXPECT_FALSE(loop.sample) << a << ", " << b;
    EXPECT_EQ(change_of(loop), "slower");
    EXPECT_THAT(answer_of(loop), HasSubstr(" a step instead of "));
  }
}

TEST(Notes, HowCudnnWasSetWhereBothRunsSay) {
  const std::vector<double> noise(30, 1.0);
  const auto notes_of_modes = [&](std::optional<bool> a_mode, std::optional<bool> b_mode) {
    RunBuilder a, b;
    a.loop().steps(noise, 2, 3);
    b.loop().steps(noise, 2, 3);
    a.report().run.cudnn_benchmark = a_mode;
    b.report().run.cudnn_benchmark = b_mode;
    return ids(compare(a.report(), b.report()));
  };
  EXPECT_EQ(notes_of_modes(true, false), std::set<std::string>{"cudnn-benchmark"});
  EXPECT_EQ(notes_of_modes(true, true), std::set<std::string>{});
  EXPECT_EQ(notes_of_modes(true, std::nullopt), std::set<std::string>{});
}

TEST(Explain, WordsOfDifferences) {
  EXPECT_EQ(signed_time_text(-2.28e6), "−2.28 ms");
  EXPECT_EQ(signed_time_text(12'300), "+12.3 µs");
  EXPECT_EQ(signed_time_text(0.2), "0 ns");
  EXPECT_EQ(signed_percent_text(-0.473), "−47.3 %");
  EXPECT_EQ(signed_percent_text(0.0001), "0.0 %");
  EXPECT_EQ(time_interval_text({-2.31e6, -0.5e6}), "−2.31 … −0.50 ms");
  LoopComparison loop;
  loop.mean = difference_of({4.82e6, 0.01e6, 100}, {2.54e6, 0.01e6, 100});
  EXPECT_EQ(answer_of(loop),
            "B is 1.9 × faster: 2.54 ms a step instead of 4.82 (−47.3 %, 95 % CI −47.8 … −46.8)");
  loop.mean = difference_of({900e3, 1e3, 100}, {1.02e6, 1e3, 100});
  EXPECT_EQ(
      answer_of(loop),
      "B is 13.3 % slower: 1.02 ms a step instead of 900 µs (+13.3 %, 95 % CI +13.0 … +13.7)");
  loop.mean = difference_of({4.82e6, 0.1e6, 100}, {4.79e6, 0.1e6, 100});
  EXPECT_EQ(
      answer_of(loop),
      "No difference beyond noise: 4.79 ms a step in B, 4.82 in A (−0.6 %, 95 % CI −6.2 … +5.3)");
}

}  // namespace
}  // namespace stepscope::testing
