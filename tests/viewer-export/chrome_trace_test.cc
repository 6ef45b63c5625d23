#include "viewer-export/chrome_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/counters.h"
#include "store/trace_writer.h"
#include "tests/store/testing/synthetic_run.h"
#include "tests/viewer-export/exported_trace.h"
#include "tests/viewer-export/testing/trace_stores.h"

namespace stepscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::open_store;
using testing::SyntheticRun;
using testing::TempDir;

ChromeTraceOptions between(std::int64_t first, std::int64_t last) {
  ChromeTraceOptions options;
  options.steps = StepRange{first, last};
  return options;
}

Status export_error(const std::filesystem::path& path, const ChromeTraceOptions& options = {}) {
  const auto reader = open_store(path);
  StringSink sink;
  return write_chrome_trace(*reader, *reader->analysis(), options, sink).status();
}

// A store with two threads and whatever a test adds.
class ChromeTrace : public ::testing::Test {
 protected:
  void SetUp() override {
    auto writer = TraceWriter::create(path_);
    ASSERT_TRUE(writer.ok());
    writer_ = *std::move(writer);
    const auto process = writer_->add_process({4242, "train", "./train"});
    ASSERT_TRUE(process.ok());
    ASSERT_TRUE(writer_->add_thread({*process, 4242, 1, "train"}).ok());
    ASSERT_TRUE(writer_->add_thread({*process, 4250, 2, "autograd"}).ok());
  }

  Op op(std::string_view name, std::int64_t start, std::int64_t end, std::uint8_t depth = 0) {
    Op op;
    op.thread = ThreadId{1};
    op.name = writer_->intern(name);
    op.start = session_time(start);
    op.dur = op.self = Duration(end - start);
    op.depth = depth;
    return op;
  }
  void add(const Op& op) { ASSERT_TRUE(writer_->add(op).ok()); }
  Exported exported(const ChromeTraceOptions& options = {}) {
    EXPECT_TRUE(writer_->finish().ok());
    return export_store(path_, options);
  }

  const TempDir dir_;
  const std::filesystem::path path_ = dir_ / "run.db";
  std::unique_ptr<TraceWriter> writer_;
};

TEST_F(ChromeTrace, IsTheseLinesForASmallRun) {
  ASSERT_TRUE(writer_->set_meta("torch_version", "2.13.0").ok());
  ASSERT_TRUE(writer_->set_meta("stepscope_version", "9.9.9").ok());
  ASSERT_TRUE(writer_->set_meta("wall_start_unix_ns", "1700000000000000000").ok());
  const Phase wait{ThreadId{1},         PhaseKind::kInput, writer_->intern("loader"),
                   session_time(1'000), Duration(2'000),   Duration(500)};
  ASSERT_TRUE(writer_->add(wait).ok());
  Op addmm = op("aten::addmm", 3'000, 4'001, 1);
  addmm.sequence = 7;
  addmm.shapes = writer_->intern("[[2,3]]");
  add(addmm);
  add(op("aten::linear", 3'000, 4'500));
  Op node = op("AddmmBackward0", 5'000, 6'000);
  node.thread = ThreadId{2};
  node.scope = OpScope::kBackwardFunction;
  node.sequence = 7;
  node.forward_thread = 1;
  add(node);
  ASSERT_TRUE(writer_->add(Loss{ThreadId{1}, "op", 3}).ok());
  Analysis analysis;
  Step step;
  step.number = 1;
  step.thread = ThreadId{1};
  step.start = session_time(1'000);
  step.dur = Duration(5'500);
  step.marker = StepMarker::kLoader;
  step.ops_recorded = step.steady = true;
  step.times = {{Category::kInput, PhaseKind::kInput, "", Duration(2'000), Duration(0)},
                {Category::kCompute, PhaseKind::kForward, "", Duration(3'500), Duration(0)}};
  analysis.steps = {step};
  Verdict verdict;
  verdict.thread = ThreadId{1};
  verdict.kind = "input-bound";
  verdict.degree = "highly";
  verdict.share = 0.364;
  verdict.confidence = "low";
  verdict.sentence = "It waits.";
  verdict.steps = 1;
  analysis.verdicts = {verdict};
  ASSERT_TRUE(writer_->replace_analysis(analysis).ok());

  EXPECT_EQ(
      exported().text,
      R"json({"otherData":{"producer":"stepscope","torch_version":"2.13.0","stepscope_version":"9.9.9","wall_start_unix_ns":"1700000000000000000","losses":{"op":3},"verdicts":[{"sentence":"It waits.","kind":"input-bound","degree":"highly","share":0.364,"ci95":[0,0],"confidence":"low","steps":1,"advice":[]}]},
"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"train (pid 4242)"}},
{"ph":"M","name":"process_sort_index","pid":1,"tid":0,"args":{"sort_index":1}},
{"ph":"M","name":"process_labels","pid":1,"tid":0,"args":{"labels":"HIGHLY INPUT-BOUND · It waits."}},
{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"Verdict"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":2}},
{"ph":"M","name":"thread_name","pid":1,"tid":3,"args":{"name":"Steps"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":3,"args":{"sort_index":3}},
{"ph":"M","name":"thread_name","pid":1,"tid":4,"args":{"name":"Phases"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":4,"args":{"sort_index":4}},
{"ph":"M","name":"thread_name","pid":1,"tid":4242,"args":{"name":"train"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":4242,"args":{"sort_index":4242}},
{"ph":"M","name":"thread_name","pid":1,"tid":4250,"args":{"name":"autograd"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":4250,"args":{"sort_index":4250}},
{"ph":"X","cat":"step","name":"step 1 · input 36 %","pid":1,"tid":3,"ts":1.000,"dur":5.500,"cname":"terrible","args":{"step":1,"marker":"loader","steady":true,"ops recorded":true,"share of input":0.363636,"exposed ns":{"compute/forward":3500,"input/input":2000}}},
{"ph":"C","name":"Step time","pid":1,"ts":1.000,"args":{"ms":0.0055}},
{"ph":"C","name":"Input wait","pid":1,"ts":1.000,"args":{"ms":0.002}},
{"ph":"C","name":"Step time","pid":1,"ts":6.500,"args":{"ms":0}},
{"ph":"C","name":"Input wait","pid":1,"ts":6.500,"args":{"ms":0}},
{"ph":"X","cat":"phase","name":"input wait: loader","pid":1,"tid":4,"ts":1.000,"dur":2.000,"cname":"terrible","args":{"kind":"input","cpu ns":500,"busy share":0.25}},
{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":4242,"ts":3.000,"dur":1.500},
{"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":4242,"ts":3.000,"dur":1.001,"args":{"Sequence number":7,"Input Dims":[[2,3]]}},
{"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":"0x1","pid":1,"tid":4242,"ts":3.000},
{"ph":"X","cat":"cpu_op","name":"AddmmBackward0","pid":1,"tid":4250,"ts":5.000,"dur":1.000,"args":{"Sequence number":7,"Fwd thread id":1}},
{"ph":"f","bp":"e","cat":"fwdbwd","name":"fwdbwd","id":"0x1","pid":1,"tid":4250,"ts":5.000},
{"ph":"X","cat":"verdict","name":"HIGHLY INPUT-BOUND · It waits.","pid":1,"tid":2,"ts":1.000,"dur":5.500,"args":{"sentence":"It waits.","kind":"input-bound","degree":"highly","share":0.364,"ci95":[0,0],"confidence":"low","steps":1,"advice":[]}},
{"ph":"X","cat":"loss","name":"LOST: 3 events were not recorded","pid":1,"tid":2,"ts":1.000,"dur":5.500,"cname":"terrible","args":{"op":3}}
],
"stepscope":{"slices":7,"skipped":0}}
)json");
}

TEST_F(ChromeTrace, GaugesAreDrawnAsTheyAreAndTotalsAsRates) {
  add(op("aten::add", 0, 10));
  const ProcessId process{1};
  const auto sample = [&](ProcessId of, const char* counter, std::int64_t at, std::int64_t value,
                          std::int64_t gpu = -1) {
    const Sample row{of, writer_->intern(counter), session_time(at), value, gpu};
    ASSERT_TRUE(writer_->add(row).ok());
  };
  sample(process, counter::kRss, 0, 1'500'000'000);
  sample(process, counter::kRss, 100'000'000, 1'600'000'000);
  sample(process, counter::kReadBytes, 0, 70'000'000);
  sample(process, counter::kReadBytes, 100'000'000, 101'000'000);
  sample(process, counter::kReadBytes, 300'000'000, 101'000'000);
  sample(process, counter::kCpuUser, 0, 0);
  sample(process, counter::kCpuUser, 100'000'000, 150'000'000);
  sample(ProcessId::kNone, counter::kPsiMemorySome, 0, 500);
  sample(ProcessId::kNone, counter::kPsiMemorySome, 100'000'000, 25'500);
  sample(process, "a_counter_of_tomorrow", 5'000, 7);
  // Each GPU by itself, in its own unit.
  sample(process, counter::kDeviceAllocatedBytes, 1'000, 2'000'000'000, 0);
  sample(process, counter::kDeviceAllocatedBytes, 1'000, 3'000'000'000, 1);
  sample(ProcessId::kNone, counter::kGpuUtilization, 2'000, 97, 0);
  sample(ProcessId::kNone, counter::kGpuPower, 2'000, 412'500, 1);
  sample(ProcessId::kNone, counter::kGpuSmClock, 2'000, 1'755, 0);
  sample(ProcessId::kNone, counter::kGpuTemperature, 2'000, 64, 0);
  sample(process, counter::kThreads, -5, 7);  // before the start: cannot be drawn
  const Exported trace = exported();
  std::vector<std::string> drawn;
  for (const json& event : trace.events("C")) {
    drawn.push_back(std::to_string(event["pid"].get<int>()) + ' ' +
                    event["name"].get<std::string>() + ' ' + std::to_string(ns(event["ts"])) + ' ' +
                    event["args"].dump());
  }
  EXPECT_THAT(
      drawn,
      ::testing::UnorderedElementsAre(
          "1 Memory held 0 {\"MB\":1500}", "1 Memory held 100000000 {\"MB\":1600}",
          "1 Read from storage 0 {\"MB/s\":310}", "1 Read from storage 100000000 {\"MB/s\":0}",
          "1 Read from storage 300000000 {\"MB/s\":0}",
          "1 CPU time in the program 0 {\"cores\":1.5}",
          "1 CPU time in the program 100000000 {\"cores\":0}",
          "2 Some task waited for memory 0 {\"%\":25}",
          "2 Some task waited for memory 100000000 {\"%\":0}",
          "1 a_counter_of_tomorrow 5000 {\"\":7}",
          "1 GPU 0 device memory of tensors 1000 {\"MB\":2000}",
          "1 GPU 1 device memory of tensors 1000 {\"MB\":3000}",
          "2 GPU 0 utilisation 2000 {\"%\":97}", "2 GPU 1 power 2000 {\"W\":412.5}",
          "2 GPU 0 SM clock 2000 {\"MHz\":1755}", "2 GPU 0 temperature 2000 {\"°C\":64}"));
  EXPECT_THAT(trace.text, HasSubstr("\"pid\":2,\"tid\":0,\"args\":{\"name\":\"Machine\"}"));
  EXPECT_EQ(trace.summary.counters, 16);
}

TEST(ChromeTraceOfARun, WithoutSamplesOfTheMachineThereIsNoGroupForIt) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {});
  EXPECT_EQ(export_store(dir / "run.db").text.find("Machine"), std::string::npos);
}

// libtorch numbers threads and sequences anew in each process: ranks have the same ones.
TEST_F(ChromeTrace, AnArrowNeverLeadsFromOneProcessToAnother) {
  const auto other = writer_->add_process({4300, "train", "./train"});
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(writer_->add_thread({*other, 4300, 1, "train"}).ok());  // thread 3, torch id 1 too
  const auto forward = [&](unsigned thread, std::int64_t start) {
    Op forward_op = op("aten::mul", start, start + 10);
    forward_op.thread = ThreadId{thread};
    forward_op.sequence = 7;
    add(forward_op);
  };
  const auto node = [&](unsigned thread, std::int64_t start) {
    Op node_op = op("MulBackward0", start, start + 10);
    node_op.thread = ThreadId{thread};
    node_op.sequence = 7;
    node_op.forward_thread = 1;
    add(node_op);
  };
  forward(1, 100);
  forward(3, 120);
  node(1, 200);
  node(3, 220);
  const Exported trace = exported();
  EXPECT_EQ(trace.summary.flows, 2);
  const auto starts = trace.events("s"), ends = trace.events("f");
  for (const json& start : starts) {
    for (const json& end : ends) {
      EXPECT_EQ(start["id"] == end["id"], start["pid"] == end["pid"]);
    }
  }
}

TEST(ChromeTraceOfARun, CountersEndWithTheStepsAskedFor) {
  const TempDir dir;
  const SyntheticRun run{.steps = 20, .samples = true};
  testing::make_store(dir / "run.db", run, /*analysed=*/true);
  const Exported trace = export_store(dir / "run.db", between(5, 6));
  std::vector<std::int64_t> times;
  for (const json& event : trace.events("C")) {
    if (event["name"] == "Read from storage") times.push_back(ns(event["ts"]));
  }
  EXPECT_THAT(times, ::testing::ElementsAre(to_ns(run.step_start(4)), to_ns(run.step_start(5)),
                                            to_ns(run.step_start(6))));
}

TEST(ChromeTraceOfARun, WhatIsNoStepIsDrawnBetweenAndInsideTheSteps) {
  const TempDir dir;
  const SyntheticRun run{.steps = 4};
  testing::make_store(dir / "run.db", run);
  Analysis analysis = testing::true_analysis(run);
  Step& step = analysis.steps[1];
  const Duration half = step.dur / 2;
  step.paused = step.dur - half;
  step.dur = half;
  const SessionTime inside = step.start + Duration(100);
  analysis.segments = {
      {step.thread, SegmentKind::kEvaluation, inside, step.paused, 2, 3, step.paused / 2},
      {step.thread, SegmentKind::kBetweenEpochs, analysis.steps[3].end(), Duration(500), 4, 0, {}}};
  {
    auto writer = TraceWriter::open(dir / "run.db");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->replace_analysis(analysis).ok());
  }
  const Exported trace = export_store(dir / "run.db");
  const auto segments = trace.slices("segment");
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0]["name"], "evaluation");
  EXPECT_EQ(segments[0]["args"]["after step"], 2);
  EXPECT_EQ(segments[0]["args"]["batches"], 3);
  EXPECT_NEAR(segments[0]["args"]["share of input"].get<double>(), 0.5, 1e-3);
  EXPECT_EQ(segments[1]["name"], "between epochs");
  const json second = trace.slices("step")[1];
  EXPECT_EQ(ns(second["dur"]), to_ns(half + step.paused)) << "it ends where it ended";
  EXPECT_EQ(second["tid"], segments[0]["tid"]);
  expect_strict_nesting(trace);
  ChromeTraceOptions options;
  options.steps = StepRange{2, 2};
  EXPECT_EQ(export_store(dir / "run.db", options).summary.ops, trace.summary.ops / run.steps)
      << "and is exported up to there";
}

TEST(ChromeTraceOfARun, ADeathIsMarkedAndTheOpsItHappenedInAreDrawnUpToIt) {
  const TempDir dir;
  const SyntheticRun run{.steps = 3, .rank = 1, .killed_by = 9};
  testing::make_store(dir / "run.db", run);
  const Exported trace = export_store(dir / "run.db");
  const auto marks = trace.events("i");
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0]["name"], "killed by SIGKILL (9)");
  EXPECT_EQ(marks[0]["s"], "p");
  EXPECT_EQ(ns(marks[0]["ts"]), to_ns(run.step_start(3)));
  EXPECT_EQ(marks[0]["args"]["step"], 4);
  std::vector<std::string> unfinished;
  for (const json& slice : trace.slices("cpu_op")) {
    if (!slice.contains("args") || !slice["args"].contains("unfinished")) continue;
    unfinished.push_back(slice["name"]);
    EXPECT_EQ(slice["tid"], 4242);
    EXPECT_EQ(ns(slice["ts"]) + ns(slice["dur"]), to_ns(run.step_start(3)));
  }
  EXPECT_THAT(unfinished, ::testing::ElementsAre("aten::linear", "aten::addmm"));
  EXPECT_THAT(trace.text, HasSubstr("train (pid 4242, rank 1)"));
}

TEST_F(ChromeTrace, AnUnfinishedOpIsTheParentOfWhatEndedInIt) {
  const UnfinishedOp open{ThreadId{1}, writer_->intern("outer"), session_time(100),
                          PhaseKind::kNone, 0};
  ASSERT_TRUE(writer_->add(open).ok());
  ASSERT_TRUE(writer_->set_meta("end_ns", "900").ok());  // nobody saw how it ended
  add(op("inner", 100, 200, 1));
  const Exported trace = exported();
  const auto slices = trace.slices("cpu_op");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["name"], "outer");
  EXPECT_EQ(ns(slices[0]["dur"]), 800);
  EXPECT_EQ(slices[1]["name"], "inner");
  EXPECT_TRUE(trace.events("i").empty());
  EXPECT_EQ(trace.summary.skipped, 0);
}

TEST_F(ChromeTrace, AnyOpsComeOutOnceWithExactTimesAndStrictNesting) {
  // Not even a tree: intervals at random, many with equal starts and ends, in the order of their
  // ends, with depths that need not be right.
  std::mt19937 random(5);
  std::vector<Op> ops;
  for (int i = 0; i < 5000; ++i) {
    const auto start = static_cast<std::int64_t>(random() % 3000);
    ops.push_back(op("op" + std::to_string(i), start,
                     start + static_cast<std::int64_t>(random() % 40),
                     static_cast<std::uint8_t>(random() % 4)));
  }
  std::ranges::stable_sort(ops, {}, [](const Op& each) { return each.start + each.dur; });
  ASSERT_TRUE(writer_->add(ops).ok());
  const Exported trace = exported();
  expect_strict_nesting(trace);
  EXPECT_GT(trace.summary.lanes, 0);

  std::map<std::string, std::pair<std::int64_t, std::int64_t>> seen;
  for (const json& slice : trace.slices("cpu_op")) {
    const auto times = std::pair(ns(slice["ts"]), ns(slice["dur"]));
    EXPECT_TRUE(seen.emplace(slice["name"].get<std::string>(), times).second);
  }
  ASSERT_EQ(seen.size(), ops.size());
  const auto reader = open_store(path_);
  for (const Op& each : ops) {
    EXPECT_EQ(seen.at(std::string(reader->text(each.name))),
              std::pair(to_ns(each.start), to_ns(each.dur)));
  }
}

TEST(ChromeTraceOf, AHostileRunParsesNestsAndKeepsEveryEvent) {
  const TempDir dir;
  const auto path = dir / "run.db";
  ASSERT_TRUE(testing::make_hostile_store(path).ok());
  const Exported trace = export_store(path);
  expect_strict_nesting(trace);
  const auto reader = open_store(path);
  EXPECT_EQ(trace.summary.ops, *reader->op_count());
  EXPECT_EQ(trace.summary.phases, static_cast<std::int64_t>(reader->phases()->size()));
  EXPECT_EQ(trace.summary.steps, 40);
  EXPECT_EQ(trace.summary.slices, trace.summary.ops + trace.summary.phases + 40 + 2);
  EXPECT_EQ(static_cast<std::int64_t>(trace.events("X").size()), trace.summary.slices);
  EXPECT_EQ(trace.document["stepscope"]["slices"], trace.summary.slices);
  EXPECT_EQ(trace.summary.skipped, 0);
  EXPECT_EQ(trace.summary.lanes, 2);  // they overlap each other too
  for (const json& slice : trace.events("X")) {
    EXPECT_GE(ns(slice["ts"]), 0);
    EXPECT_GE(ns(slice["dur"]), 0);
    EXPECT_GT(slice["tid"], 0);
  }
  EXPECT_THAT(trace.text, Not(HasSubstr("\\ud")));  // raw UTF-8
}

TEST(ChromeTraceOf, AHostileRunTiesEveryBackwardNodeToItsForwardOp) {
  const TempDir dir;
  const auto path = dir / "run.db";
  ASSERT_TRUE(testing::make_hostile_store(path).ok());
  const Exported trace = export_store(path);
  std::map<std::string, json> starts;
  for (const json& start : trace.events("s")) {
    EXPECT_TRUE(starts.emplace(start["id"], start).second) << "id twice";
  }
  std::map<std::int64_t, std::int64_t> addmm_starts;  // by sequence number
  std::map<std::int64_t, std::int64_t> node_starts;
  for (const json& op : trace.slices("cpu_op")) {
    if (op["name"] == "aten::addmm") addmm_starts[op["args"]["Sequence number"]] = ns(op["ts"]);
    if (op["name"] == "AddmmBackward0") node_starts[ns(op["ts"])] = op["args"]["Sequence number"];
  }
  const auto finishes = trace.events("f");
  EXPECT_EQ(finishes.size(), 40u * 6);
  EXPECT_EQ(starts.size(), finishes.size());
  for (const json& finish : finishes) {
    const std::int64_t sequence = node_starts.at(ns(finish["ts"]));
    EXPECT_EQ(ns(starts.at(finish["id"])["ts"]), addmm_starts.at(sequence));
    EXPECT_EQ(finish["bp"], "e");
  }
}

TEST_F(ChromeTrace, AnArrowWaitsForAForwardOpThatIsHeldBack) {
  // The forward op is the first child of a scope that is still open when its node ends.
  Op forward = op("aten::addmm", 100, 200, 1);
  forward.sequence = 3;
  add(forward);
  Op node = op("AddmmBackward0", 300, 400, 1);
  node.scope = OpScope::kBackwardFunction;
  node.sequence = 3;
  node.forward_thread = 1;
  add(node);
  add(op("whole step", 100, 500));
  const std::string text = exported().text;
  const auto at = [&text](const char* what) { return text.find(what); };
  EXPECT_LT(at("whole step"), at("aten::addmm"));
  EXPECT_LT(at("aten::addmm"), at("\"ph\":\"s\""));
  EXPECT_LT(at("AddmmBackward0"), at("\"ph\":\"f\""));
}

TEST_F(ChromeTrace, OpsWithoutALengthHaveNoArrows) {
  Op forward = op("aten::addmm", 100, 100);
  forward.sequence = 3;
  add(forward);
  Op node = op("AddmmBackward0", 300, 400);
  node.sequence = 3;
  node.forward_thread = 1;
  add(node);
  EXPECT_EQ(exported().summary.flows, 0);
}

TEST_F(ChromeTrace, WhatNoViewerCanDrawIsCountedAndLeftOut) {
  add(op("fine", 10, 20));
  add(op("before the start", -5, 8));
  const Exported trace = exported();
  EXPECT_EQ(trace.summary.ops, 1);
  EXPECT_EQ(trace.summary.skipped, 1);
  EXPECT_EQ(trace.document["stepscope"]["skipped"], 1);
}

TEST(ChromeTraceOf, StepsCutTheRun) {
  const TempDir dir;
  const auto path = dir / "run.db";
  const SyntheticRun run;
  testing::make_store(path, run, /*analysed=*/true);
  const Exported whole = export_store(path);
  ChromeTraceOptions options;
  options.steps = StepRange{5, 7};
  const Exported cut = export_store(path, options);
  EXPECT_EQ(cut.summary.steps, 3);
  EXPECT_EQ(cut.summary.ops, 3 * *open_store(path)->op_count() / run.steps);
  EXPECT_EQ(cut.document["otherData"]["steps"], "5-7");
  const std::int64_t begin = to_ns(run.step_start(4));
  const std::int64_t end = to_ns(run.step_start(7));
  for (const json& slice : cut.events("X")) {
    EXPECT_GE(ns(slice["ts"]), begin);
    EXPECT_LT(ns(slice["ts"]), end);
  }
  // The same event has the same time, cut or not.
  EXPECT_THAT(whole.text, HasSubstr(cut.slices("step").front().at("name").get<std::string>()));
}

TEST(ChromeTraceOf, StepsThatAreNotThereAreAUsageError) {
  const TempDir dir;
  testing::make_store(dir / "run.db", SyntheticRun{}, /*analysed=*/true);
  ChromeTraceOptions options;
  options.steps = StepRange{500, 520};
  Status status = export_error(dir / "run.db", options);
  EXPECT_EQ(status.kind(), ErrorKind::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("which has steps 1-20"));
  testing::make_store(dir / "bare.db", SyntheticRun{}, /*analysed=*/false);
  status = export_error(dir / "bare.db", options);
  EXPECT_EQ(status.kind(), ErrorKind::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("no step was found"));
}

TEST_F(ChromeTrace, AnEmptyStoreIsRefused) {
  ASSERT_TRUE(writer_->finish().ok());
  const Status status = export_error(path_);
  EXPECT_EQ(status.kind(), ErrorKind::kBadInput);
  EXPECT_THAT(status.message(), HasSubstr("contains no events"));
}

TEST_F(ChromeTrace, PhasesThatOverlapGetASecondRow) {
  const Phase phases[] = {
      {ThreadId{1}, PhaseKind::kForward, StringId::kNone, session_time(0), Duration(10), {}},
      {ThreadId{1}, PhaseKind::kScope, writer_->intern("a"), session_time(5), Duration(10), {}},
      {ThreadId{1}, PhaseKind::kScope, writer_->intern("b"), session_time(5), Duration(5), {}}};
  ASSERT_TRUE(writer_->add(phases).ok());
  const Exported trace = exported();
  expect_strict_nesting(trace);
  EXPECT_THAT(trace.text, HasSubstr("Phases, overlapping"));
  EXPECT_EQ(trace.slices("user_annotation").size(), 2u);
}

TEST_F(ChromeTrace, LossesAreDrawnWithoutAVerdictToo) {
  add(op("fine", 10, 20));
  ASSERT_TRUE(writer_->add(Loss{ThreadId::kNone, "op", 5}).ok());
  const Exported trace = exported();
  ASSERT_EQ(trace.slices("loss").size(), 1u);
  EXPECT_EQ(trace.slices("loss")[0]["args"]["op"], 5);
  EXPECT_EQ(trace.document["otherData"]["losses"]["op"], 5);
}

TEST_F(ChromeTrace, LostProcessesAreNoEvents) {
  add(op("fine", 10, 20));
  ASSERT_TRUE(writer_->add(Loss{ThreadId::kNone, "op", 5}).ok());
  ASSERT_TRUE(writer_->add(Loss{ThreadId::kNone, "process", 2}).ok());
  ASSERT_TRUE(writer_->add(Loss{ThreadId::kNone, "outlived", 1}).ok());
  EXPECT_THAT(exported().text,
              HasSubstr("LOST: 5 events were not recorded; 3 processes were not fully recorded\""));
}

TEST_F(ChromeTrace, StopsAtTheFirstErrorOfItsSink) {
  class Full final : public ByteSink {
   public:
    Status write(std::string_view) override {
      ++writes;
      return Status::error(ErrorKind::kIo, "disk full");
    }
    Status finish() override { return {}; }
    int writes = 0;
  };
  ASSERT_TRUE(writer_->finish().ok());
  ASSERT_TRUE(testing::make_large_store(dir_ / "large.db", 20'000).ok());
  const auto reader = open_store(dir_ / "large.db");
  Full full;
  std::int64_t read = 0;
  ChromeTraceOptions options;
  options.progress = [&read](std::int64_t ops) { read = ops; };
  const auto summary = write_chrome_trace(*reader, {}, options, full);
  EXPECT_EQ(summary.status().message(), "disk full");
  EXPECT_EQ(full.writes, 1);
}

}  // namespace
}  // namespace stepscope
