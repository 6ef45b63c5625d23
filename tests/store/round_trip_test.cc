// What goes into a store comes out of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "store/counters.h"
#include "store/limits.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using ::testing::ElementsAre;
using testing::SyntheticRun;
using testing::TempDir;

std::unique_ptr<TraceWriter> create(const std::filesystem::path& path) {
  auto writer = TraceWriter::create(path);
  EXPECT_TRUE(writer.ok()) << writer.status().message();
  return *std::move(writer);
}

// A store whose rows may name this many threads, of one process.
std::unique_ptr<TraceWriter> create_with_threads(const std::filesystem::path& path, int threads) {
  auto writer = create(path);
  const auto process = writer->add_process({77, "train", "./train"});
  EXPECT_OK(process.status());
  for (int i = 0; i < threads; ++i)
    EXPECT_OK(writer->add_thread({*process, 77 + i, 0, ""}).status());
  return writer;
}

std::vector<Op> ops_of(const TraceReader& reader) {
  std::vector<Op> ops;
  const Status status = reader.for_each_op([&](const Op& op) {
    ops.push_back(op);
    return true;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return ops;
}

bool equal(const Op& a, const Op& b) {
  return a.thread == b.thread && a.name == b.name && a.start == b.start && a.dur == b.dur &&
         a.self == b.self && a.sequence == b.sequence && a.forward_thread == b.forward_thread &&
         a.scope == b.scope && a.phase == b.phase && a.depth == b.depth && a.shapes == b.shapes;
}

// Each field once at what means "none", and once at its limits.
std::vector<Op> extreme_ops(StringId name, StringId shapes) {
  Op plain;
  plain.thread = ThreadId{1};
  plain.name = name;
  plain.start = session_time(7);
  plain.dur = plain.self = Duration(5);
  Op zero = plain;
  zero.dur = zero.self = Duration(0);
  Op without_self = plain;
  without_self.self = Duration(0);  // all of it in children; not the same as a leaf
  Op shaped = plain;
  shaped.shapes = shapes;
  Op full;
  full.thread = ThreadId{2};
  full.name = shapes;
  full.start = session_time(kFarthestNs);
  full.dur = Duration(kFarthestNs);
  full.self = Duration(kFarthestNs - 1);
  full.sequence = INT64_MAX;
  full.forward_thread = 0xFFFFFFFF;
  full.scope = OpScope::kUser;
  full.phase = PhaseKind::kInputEnd;
  full.depth = 255;
  full.shapes = shapes;
  Op nameless = plain;
  nameless.name = StringId::kNone;
  nameless.sequence = 0;
  nameless.start = session_time(-3);
  return {plain, zero, without_self, shaped, full, nameless, shaped};
}

TEST(RoundTrip, OpsKeepEveryFieldAndTheirOrder) {
  const TempDir dir;
  std::vector<Op> written;
  {
    auto writer = create_with_threads(dir / "run.db", 2);
    written = extreme_ops(writer->intern("aten::add"), writer->intern("[[2,3]]"));
    ASSERT_OK(writer->add(written));
    ASSERT_OK(writer->add(std::span<const Op>{}));
    ASSERT_OK(writer->add(written));  // the ids of shapes go on from batch to batch
    ASSERT_OK(writer->finish());
  }
  written.insert(written.end(), written.begin(), written.end());
  const auto reader = testing::open_store(dir / "run.db");
  const std::vector<Op> read = ops_of(*reader);
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_TRUE(equal(read[i], written[i])) << i;
  EXPECT_EQ(*reader->op_count(), static_cast<std::int64_t>(written.size()));
}

TEST(RoundTrip, VisitingOpsStopsWhenAskedAndCanBeRepeated) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {});
  const auto reader = testing::open_store(dir / "run.db");
  int seen = 0;
  ASSERT_OK(reader->for_each_op([&](const Op&) { return ++seen < 3; }));
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(static_cast<std::int64_t>(ops_of(*reader).size()), SyntheticRun{}.op_count());
}

TEST(RoundTrip, EqualStringsHaveOneIdAlsoAfterReopening) {
  const TempDir dir;
  StringId add;
  {
    auto writer = create(dir / "run.db");
    EXPECT_EQ(writer->intern(""), StringId::kNone);
    add = writer->intern("aten::add");
    EXPECT_EQ(writer->intern(std::string("aten::") + "add"), add);
    EXPECT_NE(writer->intern("aten::mul"), add);
    const StringId broken = writer->intern("a\xFF");
    EXPECT_EQ(writer->intern("a\xEF\xBF\xBD"), broken);  // what it is stored as
    EXPECT_EQ(writer->intern(std::string_view("a\0", 2)), broken);
    ASSERT_OK(writer->finish());
  }
  {
    auto again = TraceWriter::open(dir / "run.db");
    ASSERT_OK(again.status());
    EXPECT_EQ((*again)->intern("aten::add"), add);
    EXPECT_EQ(static_cast<int>((*again)->intern("aten::sub")), 4);
  }
  const auto reader = testing::open_store(dir / "run.db");
  EXPECT_EQ(reader->string_count(), 4u);
  EXPECT_EQ(reader->text(add), "aten::add");
  EXPECT_EQ(reader->text(StringId{3}), "a\xEF\xBF\xBD");
  EXPECT_EQ(reader->text(StringId{4}), "aten::sub");
  EXPECT_EQ(reader->text(StringId::kNone), "");
  EXPECT_EQ(reader->text(StringId{5}), "");
}

TEST(RoundTrip, ProcessesAndThreads) {
  const TempDir dir;
  {
    auto writer = create(dir / "run.db");
    const auto process = writer->add_process({77, "tr\xFFin", "./train\n--x"});
    ASSERT_OK(process.status());
    const auto first = writer->add_thread({*process, 78, 0, ""});
    const auto second = writer->add_thread({*process, 79, 3, "worker"});
    ASSERT_OK(first.status());
    ASSERT_OK(second.status());
    ASSERT_OK(writer->update_thread(*first, {*process, 78, 1, "main"}));
    ASSERT_OK(writer->finish());
  }
  const auto reader = testing::open_store(dir / "run.db");
  ASSERT_EQ(reader->processes().size(), 1u);
  EXPECT_EQ(reader->processes()[0].pid, 77);
  EXPECT_EQ(reader->processes()[0].name, "tr\xEF\xBF\xBDin");
  EXPECT_EQ(reader->processes()[0].command, "./train\n--x");
  ASSERT_EQ(reader->threads().size(), 2u);
  EXPECT_EQ(reader->threads()[0].name, "main");
  EXPECT_EQ(reader->threads()[0].torch_id, 1u);
  EXPECT_EQ(reader->threads()[0].process, reader->processes()[0].id);
  EXPECT_EQ(reader->threads()[1].tid, 79);
  EXPECT_EQ(reader->threads()[1].torch_id, 3u);
}

TEST(RoundTrip, ProcessesKnowTheirParentAndRank) {
  const TempDir dir;
  {
    auto writer = create(dir / "run.db");
    ASSERT_OK(writer->add_process({1, "a", "", 70, 0}).status());
    ASSERT_OK(writer->add_process({2, "b", ""}).status());
    ASSERT_OK(writer->finish());
  }
  const auto reader = testing::open_store(dir / "run.db");
  EXPECT_EQ(reader->processes()[0].parent_pid, 70);
  EXPECT_EQ(reader->processes()[0].rank, 0);
  EXPECT_EQ(reader->processes()[1].parent_pid, 0);
  EXPECT_EQ(reader->processes()[1].rank, -1);
}

TEST(RoundTrip, EndsOfProcesses) {
  const TempDir dir;
  const std::vector<ProcessEnd> written = {
      {ProcessId{1}, EndKind::kExit, 0, session_time(5), 0, false},
      {ProcessId{2}, EndKind::kExit, -1, session_time(6), 57, false},
      {ProcessId{3}, EndKind::kSignal, 9, session_time(kFarthestNs), kLargestValue, true},
      {ProcessId{4}, EndKind::kSignal, 0, session_time(8), 1, false},
      {ProcessId{5}, EndKind::kReplaced, 0, session_time(9), 0, false}};
  {
    auto writer = create(dir / "run.db");
    for (int i = 0; i < 5; ++i) ASSERT_OK(writer->add_process({i, "", ""}).status());
    ASSERT_OK(writer->add(ProcessEnd{ProcessId{3}, EndKind::kExit, 1, session_time(1), 1, false}));
    for (const ProcessEnd& end : written) ASSERT_OK(writer->add(end));
    ASSERT_OK(writer->finish());
  }
  const auto read = testing::open_store(dir / "run.db")->process_ends();
  ASSERT_OK(read.status());
  ASSERT_EQ(read->size(), written.size());  // the second word on process 3 replaced the first
  for (std::size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(read->at(i).process, written[i].process);
    EXPECT_EQ(read->at(i).how, written[i].how);
    EXPECT_EQ(read->at(i).code, written[i].code) << i;
    EXPECT_EQ(read->at(i).at, written[i].at);
    EXPECT_EQ(read->at(i).step, written[i].step);
    EXPECT_EQ(read->at(i).out_of_memory, written[i].out_of_memory);
  }
}

TEST(RoundTrip, UnfinishedOpsComeByThreadOutermostFirst) {
  const TempDir dir;
  {
    auto writer = create_with_threads(dir / "run.db", 2);
    const StringId name = writer->intern("aten::addmm");
    ASSERT_OK(writer->add(std::vector<UnfinishedOp>{
        {ThreadId{2}, name, session_time(7), PhaseKind::kBackward, 0},
        {ThreadId{1}, name, session_time(30), PhaseKind::kForward, 255},
        {ThreadId{1}, StringId::kNone, session_time(31), PhaseKind::kForward, 255},
        {ThreadId{1}, name, session_time(4), PhaseKind::kNone, 0}}));
    ASSERT_OK(writer->add(std::span<const UnfinishedOp>{}));
    ASSERT_OK(writer->finish());
  }
  const auto read = testing::open_store(dir / "run.db")->unfinished_ops();
  ASSERT_OK(read.status());
  std::vector<std::int64_t> starts;
  for (const UnfinishedOp& op : *read) starts.push_back(to_ns(op.start));
  EXPECT_THAT(starts, ElementsAre(4, 30, 31, 7));
  EXPECT_EQ(read->at(1).depth, 255);
  EXPECT_EQ(read->at(1).phase, PhaseKind::kForward);
  EXPECT_EQ(read->at(2).name, StringId::kNone);
  EXPECT_EQ(read->at(3).thread, ThreadId{2});
}

TEST(RoundTrip, SamplesKeepTheirOrderAndAVisitMayEndEarly) {
  const TempDir dir;
  std::vector<Sample> written;
  {
    auto writer = create_with_threads(dir / "run.db", 0);
    const StringId rss = writer->intern(counter::kRss);
    const StringId available = writer->intern(counter::kMemoryAvailable);
    written = {{ProcessId{1}, rss, session_time(3), 0},
               {ProcessId::kNone, available, session_time(3), kLargestValue},
               {ProcessId::kNone, available, session_time(3), 5, 0},
               {ProcessId{1}, rss, session_time(2), -1}};
    ASSERT_OK(writer->add(written));
    ASSERT_OK(writer->add(std::span<const Sample>{}));
    ASSERT_OK(writer->finish());
  }
  const auto reader = testing::open_store(dir / "run.db");
  std::vector<Sample> read;
  ASSERT_OK(reader->for_each_sample([&](const Sample& sample) {
    read.push_back(sample);
    return true;
  }));
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].process, written[i].process);
    EXPECT_EQ(read[i].counter, written[i].counter);
    EXPECT_EQ(read[i].at, written[i].at);
    EXPECT_EQ(read[i].value, written[i].value);
    EXPECT_EQ(read[i].gpu, written[i].gpu);
  }
  int seen = 0;
  ASSERT_OK(reader->for_each_sample([&](const Sample&) { return ++seen < 2; }));
  EXPECT_EQ(seen, 2);
}

TEST(RoundTrip, CallsOfModules) {
  const TempDir dir;
  {
    auto writer = create_with_threads(dir / "run.db", 1);
    ModuleCall call;
    call.thread = ThreadId{1};
    call.root = writer->intern("Net");
    call.name = writer->intern("layer.0");
    call.class_name = writer->intern("Linear");
    call.start = session_time(10);
    call.dur = Duration(100);
    call.phase = PhaseKind::kForward;
    call.depth = 1;
    call.held_bytes = -4096;
    ASSERT_OK(writer->add(call));
    call.name = StringId::kNone;
    call.held_bytes.reset();
    ASSERT_OK(writer->add(call));
    ASSERT_OK(writer->finish());
  }
  const auto reader = testing::open_store(dir / "run.db");
  std::vector<ModuleCall> calls;
  ASSERT_OK(reader->for_each_module_call([&](const ModuleCall& one) { calls.push_back(one); }));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(reader->text(calls[0].root), "Net");
  EXPECT_EQ(reader->text(calls[0].name), "layer.0");
  EXPECT_EQ(reader->text(calls[0].class_name), "Linear");
  EXPECT_EQ(calls[0].start, session_time(10));
  EXPECT_EQ(calls[0].dur, Duration(100));
  EXPECT_EQ(calls[0].phase, PhaseKind::kForward);
  EXPECT_EQ(calls[0].depth, 1);
  EXPECT_EQ(calls[0].held_bytes, -4096);
  EXPECT_EQ(calls[1].name, StringId::kNone);
  EXPECT_EQ(calls[1].held_bytes, std::nullopt);
}

TEST(RoundTrip, HowThreadsWereScheduled) {
  const TempDir dir;
  {
    auto writer = create_with_threads(dir / "run.db", 1);
    ASSERT_OK(writer->add(
        ThreadStretch{ThreadId{1}, session_time(10), Duration(100), Duration(30), Duration(60)}));
    const auto thread = writer->add_watched_thread({ProcessId{1}, 77, 78, "pool"});
    ASSERT_OK(thread.status());
    const ThreadReading readings[] = {{*thread, session_time(20), Duration(5), Duration(6), 2},
                                      {*thread, session_time(30), Duration(7), Duration(9), 0}};
    ASSERT_OK(writer->add(readings));
    ASSERT_OK(writer->finish());
  }
  const auto reader = testing::open_store(dir / "run.db");
  std::vector<ThreadStretch> stretches;
  ASSERT_OK(reader->for_each_stretch([&](const ThreadStretch& one) { stretches.push_back(one); }));
  ASSERT_EQ(stretches.size(), 1u);
  EXPECT_EQ(stretches[0].thread, ThreadId{1});
  EXPECT_EQ(stretches[0].start, session_time(10));
  EXPECT_EQ(stretches[0].dur, Duration(100));
  EXPECT_EQ(stretches[0].run, Duration(30));
  EXPECT_EQ(stretches[0].starved, Duration(60));
  const auto threads = reader->watched_threads();
  ASSERT_OK(threads.status());
  ASSERT_EQ(threads->size(), 1u);
  EXPECT_EQ(threads->at(0).id, WatchedThreadId{1});
  EXPECT_EQ(threads->at(0).process, ProcessId{1});
  EXPECT_EQ(threads->at(0).pid, 77);
  EXPECT_EQ(threads->at(0).tid, 78);
  EXPECT_EQ(threads->at(0).name, "pool");
  std::vector<ThreadReading> readings;
  ASSERT_OK(
      reader->for_each_thread_reading([&](const ThreadReading& one) { readings.push_back(one); }));
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[1].at, session_time(30));
  EXPECT_EQ(readings[1].run, Duration(7));
  EXPECT_EQ(readings[1].starved, Duration(9));
  EXPECT_EQ(readings[0].cores, 2);
  EXPECT_EQ(readings[1].cores, 0);
}

TEST(RoundTrip, WhatThreadsWereDoing) {
  const TempDir dir;
  {
    auto writer = create_with_threads(dir / "run.db", 1);
    const auto thread = writer->add_watched_thread({ProcessId{1}, 77, 78, "worker"});
    ASSERT_OK(thread.status());
    const StringId file = writer->intern("/data.py");
    const StackFrame frames[] = {{FrameId::kNone, writer->intern("main"), file, 3},
                                 {FrameId{1}, writer->intern("decode"), file, 0}};
    ASSERT_OK(writer->add(frames));
    const StackSample samples[] = {
        {*thread, session_time(20), FrameId{2}, true, StringId::kNone},
        {*thread, session_time(30), FrameId{1}, false, writer->intern("read /a.bin")}};
    ASSERT_OK(writer->add(samples));
    ASSERT_OK(
        writer->add(NativeSample{*thread, session_time(25), writer->intern("/l/libjpeg.so")}));
    ASSERT_OK(writer->finish());
  }
  const auto reader = testing::open_store(dir / "run.db");
  const auto frames = reader->frames();
  ASSERT_OK(frames.status());
  ASSERT_EQ(frames->size(), 2u);
  EXPECT_EQ(frames->at(0).caller, FrameId::kNone);
  EXPECT_EQ(frames->at(0).line, 3);
  EXPECT_EQ(frames->at(1).caller, FrameId{1});
  EXPECT_EQ(frames->at(1).line, 0);
  EXPECT_EQ(reader->text(frames->at(1).function), "decode");
  EXPECT_EQ(reader->text(frames->at(1).file), "/data.py");
  std::vector<StackSample> samples;
  ASSERT_OK(reader->for_each_stack_sample([&](const StackSample& one) { samples.push_back(one); }));
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].at, session_time(20));
  EXPECT_EQ(samples[0].frame, FrameId{2});
  EXPECT_TRUE(samples[0].awaited);
  EXPECT_EQ(samples[0].blocked, StringId::kNone);
  EXPECT_FALSE(samples[1].awaited);
  EXPECT_EQ(reader->text(samples[1].blocked), "read /a.bin");
  NativeSample library;
  ASSERT_OK(reader->for_each_native_sample([&](const NativeSample& one) { library = one; }));
  EXPECT_EQ(library.thread, WatchedThreadId{1});
  EXPECT_EQ(library.at, session_time(25));
  EXPECT_EQ(reader->text(library.library), "/l/libjpeg.so");
}

TEST(Counters, EachKnownOneIsFoundByItsName) {
  std::set<std::string> names;
  for (const Counter& counter : known_counters()) {
    EXPECT_EQ(find_counter(counter.name), &counter);
    names.insert(counter.name);
  }
  EXPECT_EQ(names.size(), known_counters().size());
  EXPECT_EQ(find_counter("no such counter"), nullptr);
}

TEST(RoundTrip, PhasesComeByThreadAndStartParentsFirst) {
  const TempDir dir;
  const auto phase = [](unsigned thread, PhaseKind kind, std::int64_t start, std::int64_t dur) {
    return Phase{ThreadId{thread},    kind,          StringId::kNone,
                 session_time(start), Duration(dur), Duration(1)};
  };
  {
    auto writer = create_with_threads(dir / "run.db", 2);
    // In the order of their ends, as a recorder writes them.
    ASSERT_OK(writer->add(std::vector<Phase>{
        phase(2, PhaseKind::kForward, 0, 5), phase(1, PhaseKind::kForward, 10, 20),
        phase(1, PhaseKind::kScope, 10, 20), phase(1, PhaseKind::kInput, 10, 90),
        phase(1, PhaseKind::kStep, 100, 0), phase(1, PhaseKind::kZeroGrad, 100, 0)}));
    ASSERT_OK(writer->finish());
  }
  const auto phases = testing::open_store(dir / "run.db")->phases();
  ASSERT_OK(phases.status());
  std::vector<PhaseKind> kinds;
  for (const Phase& p : *phases) kinds.push_back(p.kind);
  EXPECT_THAT(kinds, ElementsAre(PhaseKind::kInput, PhaseKind::kScope, PhaseKind::kForward,
                                 PhaseKind::kStep, PhaseKind::kZeroGrad, PhaseKind::kForward));
  EXPECT_EQ(to_ns(phases->at(0).dur), 90);
  EXPECT_EQ(to_ns(phases->at(0).cpu), 1);
}

TEST(RoundTrip, LossesOfOneThreadAndKindAddUp) {
  const TempDir dir;
  {
    auto writer = create_with_threads(dir / "run.db", 1);
    ASSERT_OK(writer->add(Loss{ThreadId::kNone, "op", 1}));
    ASSERT_OK(writer->add(Loss{ThreadId{1}, "op", 10}));
    ASSERT_OK(writer->add(Loss{ThreadId::kNone, "op", 2}));
    ASSERT_OK(writer->add(Loss{ThreadId{1}, "phase", 100}));
    ASSERT_OK(writer->finish());
  }
  const auto losses = testing::open_store(dir / "run.db")->losses();
  ASSERT_OK(losses.status());
  ASSERT_EQ(losses->size(), 3u);
  EXPECT_EQ(losses->at(0).thread, ThreadId::kNone);
  EXPECT_EQ(losses->at(0).count, 3);
  EXPECT_EQ(losses->at(1).count, 10);
  EXPECT_EQ(losses->at(2).kind, "phase");
}

// What a program that has gone wild says it lost: a sum that overflows would end the recording.
TEST(RoundTrip, LossesBeyondCountingAreKept) {
  const TempDir dir;
  {
    auto writer = create(dir / "run.db");
    for (int i = 0; i < 3; ++i) ASSERT_OK(writer->add(Loss{ThreadId::kNone, "op", INT64_MAX}));
    ASSERT_OK(writer->add(Loss{ThreadId::kNone, "phase", INT64_MIN}));
    ASSERT_OK(writer->finish());
  }
  const auto losses = testing::open_store(dir / "run.db")->losses();
  ASSERT_OK(losses.status());
  EXPECT_EQ(losses->at(0).count, kMaxLost);
  EXPECT_EQ(losses->at(1).count, 0);
}

TEST(RoundTrip, Metadata) {
  const TempDir dir;
  {
    auto writer = create(dir / "run.db");
    ASSERT_OK(writer->set_meta("command", "./train\xFF"));
    ASSERT_OK(writer->set_meta("an_offset_ns", "1"));
    ASSERT_OK(writer->set_meta("an_offset_ns", "-25"));
    ASSERT_OK(writer->flush());
    EXPECT_EQ(testing::open_store(dir / "run.db")->meta("state"), "recording");
    ASSERT_OK(writer->finish());
  }
  const auto reader = testing::open_store(dir / "run.db");
  EXPECT_EQ(reader->meta("command"), "./train\xEF\xBF\xBD");
  EXPECT_EQ(reader->meta("state"), "complete");
  EXPECT_EQ(reader->meta("schema_version"), std::to_string(kSchemaVersion));
  EXPECT_EQ(reader->meta("no such key"), std::nullopt);
  EXPECT_EQ(reader->meta_int("an_offset_ns", 7), -25);
  EXPECT_EQ(reader->meta_int("no such key", 7), 7);
  EXPECT_EQ(reader->meta_int("command", 7), 7);
}

TEST(Schema, NamesOfPhasesAreThoseOfTheVocabulary) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {});
  auto database = Database::open(dir / "run.db", SQLITE_OPEN_READONLY);
  ASSERT_OK(database.status());
  EXPECT_EQ(*database->query_int("SELECT count(*) FROM phase_kind"), kPhaseKindCount);
  for (int kind = 0; kind < kPhaseKindCount; ++kind) {
    EXPECT_EQ(
        *database->query_text("SELECT name FROM phase_kind WHERE id = " + std::to_string(kind)),
        phase_name(static_cast<PhaseKind>(kind)));
  }
  EXPECT_EQ(*database->query_text("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(*database->query_int("SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

}  // namespace
}  // namespace stepscope
