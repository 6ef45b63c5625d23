// Stack samples in the exports: as slices of a trace, as a speedscope file, as folded stacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"
#include "tests/viewer-export/exported_trace.h"
#include "viewer-export/folded.h"
#include "viewer-export/speedscope.h"
#include "viewer-export/stack_frames.h"
#include "viewer-export/stack_spans.h"
#include "viewer-export/stack_tracks.h"

namespace stepscope {
namespace {

using nlohmann::json;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// A store whose samples are written by the tests, at times in ms.
class StackExports : public ::testing::Test {
 protected:
  void SetUp() override {
    auto writer = TraceWriter::create(path_);
    ASSERT_OK(writer.status());
    writer_ = *std::move(writer);
    Process process;
    process.pid = 4242;
    process.name = "python";
    process_ = *writer_->add_process(process);
    Thread thread;
    thread.process = process_;
    thread.tid = 4242;
    const ThreadId loop = *writer_->add_thread(thread);
    const Phase phase{loop, PhaseKind::kScope, writer_->intern("s"), session_time(0), Duration(1)};
    ASSERT_OK(writer_->add(phase));
    loop_ = add_thread(4242, 4242, "python");
    worker_ = add_thread(4250, 4250, "pt_data_worker");
  }

  WatchedThreadId add_thread(std::int64_t pid, std::int64_t tid, const char* name) {
    return *writer_->add_watched_thread({process_, pid, tid, name});
  }
  FrameId frame(FrameId caller, std::string_view function, std::string_view file,
                std::int64_t line) {
    const StackFrame frames[] = {{caller, writer_->intern(function), writer_->intern(file), line}};
    EXPECT_OK(writer_->add(frames));
    return static_cast<FrameId>(++frames_);
  }
  void sample(WatchedThreadId thread, std::int64_t at_ms, FrameId frame, bool awaited = false,
              const char* blocked = "") {
    const StackSample samples[] = {{thread, session_time(at_ms * kMs), frame, awaited,
                                    *blocked == 0 ? StringId::kNone : writer_->intern(blocked)}};
    ASSERT_OK(writer_->add(samples));
  }
  void samples(WatchedThreadId thread, std::initializer_list<std::int64_t> at_ms, FrameId frame) {
    for (const std::int64_t at : at_ms) sample(thread, at, frame);
  }

  // A loop in main(), which calls decode() and waits in it; a worker that is seldom looked at.
  void write_example() {
    main_ = frame(FrameId::kNone, "main", "/src/train.py", 12);
    decode_ = frame(main_, "decode", "/src/data.py", 41);
    const FrameId next_line = frame(main_, "decode", "/src/data.py", 42);
    const FrameId load =
        frame(next_line, "load", "/v/lib/python3.11/site-packages/PIL/Image.py", 7);
    samples(loop_, {0, 4}, main_);
    samples(loop_, {8, 12}, decode_);
    sample(loop_, 16, load, false, "read");
    sample(loop_, 20, load);
    samples(worker_, {2, 52, 102}, decode_);
    samples(loop_, {24, 124, 128}, main_);  // nobody looked from 24 to 124
  }

  std::unique_ptr<TraceReader> finished() {
    if (writer_) EXPECT_OK(writer_->finish());
    writer_.reset();
    return testing::open_store(path_);
  }
  json speedscope(const Cut& cut = {}) {
    const auto reader = finished();
    StringSink sink;
    const auto written = write_speedscope(*reader, cut, sink);
    EXPECT_OK(written.status());
    return json::parse(sink.text());
  }
  std::string folded(const Cut& cut = {}) {
    const auto reader = finished();
    StringSink sink;
    const auto written = write_folded(*reader, cut, sink);
    EXPECT_OK(written.status());
    return sink.text();
  }
  // "track: name start+dur" in ms, in the order of the file.
  static std::vector<std::string> lines(const Exported& trace) {
    std::map<std::int64_t, std::string> tracks;
    for (const json& event : trace.events("M")) {
      if (event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    }
    std::vector<std::string> lines;
    for (const json& slice : trace.slices("line")) {
      lines.push_back(tracks[slice["tid"]] + ": " + slice["name"].get<std::string>() + " " +
                      std::to_string(ns(slice["ts"]) / kMs) + "+" +
                      std::to_string(ns(slice["dur"]) / kMs));
    }
    return lines;
  }

  static constexpr std::int64_t kMs = 1'000'000;
  const testing::TempDir dir_;
  const std::filesystem::path path_ = dir_ / "run.db";
  std::unique_ptr<TraceWriter> writer_;
  ProcessId process_{};
  WatchedThreadId loop_{};
  WatchedThreadId worker_{};
  FrameId main_{};
  FrameId decode_{};
  std::int64_t frames_ = 0;
};

TEST_F(StackExports, FoldedStacksCountTheSamplesOfEachStack) {
  write_example();
  EXPECT_EQ(folded(),
            "python 4242;main (train.py:12) 5\n"
            "python 4242;main (train.py:12);decode (data.py:41) 2\n"
            "python 4242;main (train.py:12);decode (data.py:42);load (PIL/Image.py:7) 2\n"
            "pt_data_worker 4250;main (train.py:12);decode (data.py:41) 3\n");
}

TEST_F(StackExports, ASpeedscopeProfileKeepsToTheClock) {
  write_example();
  const json file = speedscope();
  EXPECT_EQ(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
  EXPECT_THAT(file["exporter"].get<std::string>(), ::testing::StartsWith("stepscope@"));
  EXPECT_THAT(file["shared"]["frames"], SizeIs(4));
  ASSERT_THAT(file["profiles"], SizeIs(2));
  const json& loop = file["profiles"][0];
  EXPECT_EQ(loop["name"], "python 4242 · python 4242");
  EXPECT_EQ(loop["type"], "sampled");
  EXPECT_EQ(loop["unit"], "nanoseconds");

  // The sample at 24 stands for 16 ms, four usual gaps, and the time to 124 is unknown.
  EXPECT_EQ(loop["weights"], json({8 * kMs, 8 * kMs, 8 * kMs, 16 * kMs, 84 * kMs, 8 * kMs}));
  std::vector<std::string> stacks;
  for (const json& stack : loop["samples"]) {
    std::string& text = stacks.emplace_back();
    for (const json& at : stack)
      text += file["shared"]["frames"][at.get<std::size_t>()]["name"].get<std::string>() + ";";
  }
  EXPECT_THAT(stacks, ElementsAre("main (train.py:12);", "main (train.py:12);decode (data.py:41);",
                                  "main (train.py:12);decode (data.py:42);load (PIL/Image.py:7);",
                                  "main (train.py:12);", "", "main (train.py:12);"));
  EXPECT_EQ(loop["startValue"], 0);
  EXPECT_EQ(loop["endValue"], 132 * kMs);
  // A thread that is looked at less often: all of its time is known.
  EXPECT_EQ(file["profiles"][1]["name"], "pt_data_worker 4250 · pt_data_worker 4250");
  EXPECT_EQ(file["profiles"][1]["weights"], json({150 * kMs}));
}

TEST_F(StackExports, ATraceHasASliceForEachFrameAsLongAsItIsFound) {
  write_example();
  finished();
  const Exported trace = export_store(path_);
  EXPECT_THAT(lines(trace), ElementsAre("lines · python 4242: decode (data.py:41) 8+8",
                                        "lines · python 4242: decode (data.py:42) 16+8",
                                        "lines · python 4242: load (PIL/Image.py:7) 16+8",
                                        "lines · python 4242: main (train.py:12) 0+40",
                                        "lines · python 4242: main (train.py:12) 124+8",
                                        "lines · pt_data_worker 4250: main (train.py:12) 2+150",
                                        "lines · pt_data_worker 4250: decode (data.py:41) 2+150"));
  const json load = trace.slices("line")[2];
  EXPECT_EQ(load["args"]["samples"], 2);
  EXPECT_EQ(load["args"]["samples blocked"], 1);
  expect_strict_nesting(trace);
  EXPECT_EQ(trace.summary.skipped, 0);
  EXPECT_EQ(trace.summary.lanes, 0);
}

TEST_F(StackExports, ACutHasTheSamplesInIt) {
  write_example();
  const Cut cut{TimeRange{session_time(8 * kMs), session_time(20 * kMs)}};
  EXPECT_EQ(folded(cut),
            "python 4242;main (train.py:12);decode (data.py:41) 2\n"
            "python 4242;main (train.py:12);decode (data.py:42);load (PIL/Image.py:7) 1\n");
  const json file = speedscope(cut);
  EXPECT_THAT(file["shared"]["frames"], SizeIs(4));
  EXPECT_EQ(file["profiles"][0]["startValue"], 8 * kMs);
  EXPECT_EQ(file["profiles"][0]["endValue"], 20 * kMs);
}

TEST_F(StackExports, AwaitedThreadsAreMeasuredByTheGapsWhileTheyAreAwaited) {
  const FrameId decode = frame(FrameId::kNone, "decode", "data.py", 1);
  const FrameId idle = frame(FrameId::kNone, "get", "queue.py", 2);
  for (const std::int64_t at : {0, 4, 8, 12, 16}) sample(worker_, at, decode, true);
  for (const std::int64_t at : {116, 216, 316}) sample(worker_, at, idle);
  const json worker = speedscope()["profiles"][0];
  EXPECT_EQ(worker["weights"], json({32 * kMs, 84 * kMs, 300 * kMs}));
}

// Each is of one gap between ops: nothing is known of the time until the next.
TEST_F(StackExports, SamplesThatAProgramTookItselfAllLastTheSame) {
  ASSERT_OK(writer_->set_meta("lines_native", "3"));
  const FrameId decode = frame(FrameId::kNone, "decode", "loader.cc", 30);
  for (const std::int64_t at : {0, 20, 22}) sample(loop_, at, decode);
  const json loop = speedscope()["profiles"][0];
  const std::int64_t each = to_ns(StackSpans::kNativeSpan);
  EXPECT_EQ(loop["weights"][0], each);
  std::int64_t decoding = 0;
  for (std::size_t i = 0; i < loop["weights"].size(); ++i) {
    if (!loop["samples"][i].empty()) decoding += loop["weights"][i].get<std::int64_t>();
  }
  EXPECT_EQ(decoding, 3 * each);
}

TEST_F(StackExports, WithoutSamplesThereIsNothingToExport) {
  finished();
  const auto reader = testing::open_store(path_);
  StringSink sink;
  EXPECT_THAT(write_folded(*reader, {}, sink).status().message(), HasSubstr("no stack samples"));
  EXPECT_THAT(write_speedscope(*reader, {}, sink).status().message(), HasSubstr("--no-lines"));
  EXPECT_EQ(sink.text(), "");
  EXPECT_THAT(lines(export_store(path_)), SizeIs(0));
}

TEST_F(StackExports, HostileNamesStayInTheirFrame) {
  const FrameId semicolons = frame(FrameId::kNone, "a;b 7", "/x/f;g\n9.py", 1);
  const FrameId breaks =
      frame(semicolons, "two\r\nlines\u2028and\u2029more\u0085", "\"</script>\\", 0);
  const FrameId broken = frame(breaks, "\xff\x01\t  tab", "", 3);
  sample(add_thread(7, 7, "t;\n  1"), 1, broken);
  sample(add_thread(8, 7, "t;\n  1"), 1, semicolons);
  EXPECT_EQ(folded(),
            "t, 1 7 (pid 7);a,b 7 (f,g 9.py:1);two lines and more (script>\\);\uFFFD tab (:3) 1\n"
            "t, 1 7 (pid 8);a,b 7 (f,g 9.py:1) 1\n");
  const json frames = speedscope()["shared"]["frames"];
  EXPECT_EQ(frames[2]["name"], "a;b 7 (f;g\n9.py:1)");
  EXPECT_EQ(frames[2]["file"], "/x/f;g\n9.py");
  EXPECT_FALSE(frames[1].contains("line"));
  expect_strict_nesting(export_store(path_));
}

TEST_F(StackExports, FilesOfOneNameAreNamedByTheirPaths) {
  samples(loop_, {0}, frame(FrameId::kNone, "f", "/a/utils.py", 1));
  samples(loop_, {4}, frame(FrameId::kNone, "f", "/b/utils.py", 1));
  samples(loop_, {8}, frame(FrameId::kNone, "g", "/b/other.py", 0));
  samples(loop_, {12}, frame(FrameId::kNone, "get", "/usr/lib/python3.11/queue.py", 5));
  samples(loop_, {16}, frame(FrameId::kNone, "h", "/usr/lib/python3", 6));
  EXPECT_EQ(folded(),
            "python 4242;f (/a/utils.py:1) 1\n"
            "python 4242;f (/b/utils.py:1) 1\n"
            "python 4242;g (other.py) 1\n"
            "python 4242;get (queue.py:5) 1\n"
            "python 4242;h (python3:6) 1\n");
}

TEST_F(StackExports, OfTooManySamplesEveryOtherIsUsed) {
  const FrameId main = frame(FrameId::kNone, "main", "train.py", 1);
  for (int i = 0; i < 100; ++i) sample(loop_, 4 * i, main);
  const auto reader = finished();
  const Cut all;
  const auto spans = StackSpans::read(*reader, all, 40);
  ASSERT_OK(spans.status());
  EXPECT_EQ(spans->every(), 3);
  std::vector<std::int64_t> lengths;
  ASSERT_OK(spans->for_each(
      [&](const StackSpan& span) { lengths.push_back(to_ns(span.range.length())); }));
  EXPECT_THAT(lengths, SizeIs(34));
  EXPECT_THAT(lengths, Each(12 * kMs));
}

TEST_F(StackExports, SamplesOutOfOrderAreLeftOut) {
  const FrameId main = frame(FrameId::kNone, "main", "train.py", 1);
  const FrameId other = frame(FrameId::kNone, "other", "train.py", 2);
  samples(loop_, {-4, 0, 4, 8}, main);
  samples(loop_, {8, 2}, other);
  finished();
  const Exported trace = export_store(path_);
  EXPECT_THAT(lines(trace), ElementsAre("lines · python 4242: main (train.py:1) 0+12"));
  EXPECT_EQ(trace.summary.skipped, 3);
}

TEST_F(StackExports, DeepStacksAndManyThreadsAreBounded) {
  FrameId deepest = FrameId::kNone;
  for (int i = 0; i < 1000; ++i) deepest = frame(deepest, "f", "f.py", i);
  for (int i = 0; i < 200; ++i) {
    const WatchedThreadId thread = add_thread(9000 + i, 9000 + i, "t");
    sample(thread, i, deepest);
    if (i >= 100) sample(thread, 4 + i, deepest);
  }
  finished();
  const Exported trace = export_store(path_);
  EXPECT_THAT(trace.slices("line"), SizeIs(StackTracks::kMaxTracks * StackFrames::kMaxDepth));
  EXPECT_EQ(trace.summary.skipped, 200 - static_cast<std::int64_t>(StackTracks::kMaxTracks));
  expect_strict_nesting(trace);
  EXPECT_THAT(speedscope()["profiles"][0]["samples"][0], SizeIs(StackFrames::kMaxDepth));
}

}  // namespace
}  // namespace stepscope
