// Traces of the PyTorch profiler, as files, into a store: what each dialect says, read back from
// the store; and files that are not as they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analyzer/import/import.h"
#include "analyzer/import/kineto_names.h"
#include "store/trace_reader.h"
#include "tests/analyzer/kineto_dialects.h"
#include "tests/analyzer/kineto_import.h"
#include "tests/source_folder.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(KinetoNames, SayWhatWasCopied) {
  const CopyName copy = parse_copy_name("Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(copy.kind, CopyKind::kHostToDevice);
  EXPECT_EQ(copy.source, MemoryKind::kPageable);
  EXPECT_EQ(copy.target, MemoryKind::kDevice);
  EXPECT_EQ(parse_copy_name("Memcpy PtoP (Device -> Device Static)").target,
            MemoryKind::kDeviceStatic);
  EXPECT_EQ(parse_copy_name("Memcpy DtoH").kind, CopyKind::kDeviceToHost);
  EXPECT_EQ(parse_copy_name("Memcpy Sideways (Here -> There)").kind, CopyKind::kUnknown);
  for (const char* broken :
       {"", "Memcpy", "Memcpy (", "Memcpy HtoD ( -> ", "Memcpy HtoD ) -> (", " -> "}) {
    EXPECT_EQ(parse_copy_name(broken).source, MemoryKind::kUnknown) << broken;
  }
}

TEST(KinetoNames, SayRankAndThread) {
  EXPECT_EQ(rank_in_file_name("run_rank3.pt.trace.json.gz"), 3);
  EXPECT_EQ(rank_in_file_name("rank-12.json"), 12);
  EXPECT_EQ(rank_in_file_name("ranked.json"), std::nullopt);
  EXPECT_EQ(rank_in_file_name("ranks_of_rank_7.json"), 7);
  EXPECT_EQ(own_thread_name("thread 25772 (python)"), "python");
  EXPECT_EQ(own_thread_name("thread 1 (pt_autograd_0)"), "pt_autograd_0");
  EXPECT_EQ(own_thread_name("thread pool (x)"), "thread pool (x)");
  EXPECT_EQ(own_thread_name("loader"), "loader");
}

class KinetoDialect : public KinetoImport, public ::testing::WithParamInterface<Dialect> {};

TEST_P(KinetoDialect, HostSideIsAsIfItHadBeenRecorded) {
  const Dialect& d = GetParam();
  const auto summary = import({write("t.json", training_step(d))});
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->files.front().format, d.name);
  EXPECT_EQ(summary->lost, 0);
  const auto reader = store();
  std::vector<std::string> expected = {
      "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 1 10000-90000 80000 7 input",
      "aten::addmm 1 125000-145000 20000 0 none",
      "aten::linear 1 120000-150000 10000 0 none",
      "AddmmBackward0 2 200000-250000 50000 1 backward",
      "torch::autograd::AccumulateGrad 2 260000-270000 10000 1 backward",
      "Optimizer.step#SGD.step 1 300000-340000 40000 7 optimizer",
      "Optimizer.zero_grad#SGD.zero_grad 1 350000-355000 5000 7 zero_grad",
      "ProfilerStep#5 1 0-400000 245000 7 none"};
  if (d.engine) {
    expected.insert(
        expected.begin() + 4,
        "autograd::engine::evaluate_function: AddmmBackward0 2 200000-250000 0 1 backward");
  }
  EXPECT_THAT(ops(*reader), ::testing::UnorderedElementsAreArray(expected));

  const auto phases = reader->phases();
  ASSERT_OK(phases.status());
  std::vector<std::string> marks;
  for (const Phase& p : *phases) {
    EXPECT_EQ(p.thread, ThreadId{1});
    marks.push_back(std::string(phase_name(p.kind)) + " " + std::string(reader->text(p.name)) +
                    " " + std::to_string(to_ns(p.start)) + "-" +
                    std::to_string(to_ns(p.start + p.dur)) + " " + std::to_string(to_ns(p.cpu)));
  }
  EXPECT_THAT(marks, ElementsAre("step ProfilerStep#5 0-400000 0",
                                 "input DataLoader 10000-90000 80000", "backward  200000-270000 0",
                                 "optimizer  300000-340000 0", "zero_grad  350000-355000 0"));
}

TEST_P(KinetoDialect, DeviceSideIsJoinedToItsCalls) {
  const Dialect& d = GetParam();
  ASSERT_OK(import({write("t.json", training_step(d))}).status());
  const auto reader = store();
  ASSERT_THAT(reader->devices(), SizeIs(1));
  ASSERT_THAT(reader->streams(), SizeIs(2));
  std::vector<ApiCall> calls;
  ASSERT_OK(reader->for_each_api_call([&](const ApiCall& call) { calls.push_back(call); }));
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_EQ(reader->text(calls[1].name), "cudaLaunchKernel");
  EXPECT_EQ(calls[1].thread, ThreadId{1});
  EXPECT_EQ(to_ns(calls[1].start), 130000);

  std::vector<Kernel> kernels;
  ASSERT_OK(reader->for_each_kernel([&](const Kernel& kernel) { kernels.push_back(kernel); }));
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(reader->text(kernels[0].name), "sgemm<float, 2>(int)");
  EXPECT_EQ(kernels[0].correlation, calls[1].correlation);
  EXPECT_EQ(kernels[0].correlation, correlation_of(ProcessId{1}, 12));
  EXPECT_EQ(to_ns(kernels[0].start), 140000);
  EXPECT_EQ(to_ns(kernels[0].dur), 55000);
  EXPECT_THAT(kernels[0].grid, ElementsAre(50, 2, 1));
  EXPECT_THAT(kernels[0].block, ElementsAre(256, 1, 1));
  EXPECT_EQ(kernels[0].registers, 38);
  EXPECT_EQ(kernels[0].static_shared_bytes, 1024);

  std::vector<Copy> copies;
  ASSERT_OK(reader->for_each_copy([&](const Copy& copy) { copies.push_back(copy); }));
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].kind, CopyKind::kHostToDevice);
  EXPECT_EQ(copies[0].source, MemoryKind::kPageable);
  EXPECT_EQ(copies[0].bytes, 4096);
  EXPECT_EQ(copies[0].stream, kernels[0].stream);
  EXPECT_EQ(copies[0].correlation, calls[0].correlation);
}

TEST_P(KinetoDialect, KnowsWhoRanAndWhen) {
  const Dialect& d = GetParam();
  ASSERT_OK(import({write("t.json", training_step(d))}).status());
  const auto reader = store();
  ASSERT_THAT(reader->processes(), SizeIs(1));
  EXPECT_EQ(reader->processes()[0].pid, 42);
  EXPECT_EQ(reader->processes()[0].name, "python");
  ASSERT_THAT(reader->threads(), SizeIs(2));
  EXPECT_EQ(reader->threads()[0].tid, 7);
  EXPECT_EQ(reader->threads()[0].torch_id, 1U);
  EXPECT_EQ(reader->threads()[1].name, "pt_autograd_0");
  const std::string name = d.name;
  const std::int64_t start = reader->meta_int("wall_start_unix_ns", 0);
  if (name == "PyTorch profiler, since May 2024") {
    EXPECT_EQ(start, 1790857026000000000 + 4429449912000250);  // the base stands behind the events
    EXPECT_EQ(reader->meta("host"), "node7");
  } else {
    EXPECT_EQ(start, 1623142623460000000 + (name == "PyTorch profiler, early 2024" ? 250 : 0));
  }
  EXPECT_EQ(reader->processes()[0].rank, name == "PyTorch profiler, 2022-23" ? 5 : -1);
  EXPECT_EQ(reader->meta("imported_from"), "t.json (" + name + ")");
}

INSTANTIATE_TEST_SUITE_P(All, KinetoDialect, ::testing::ValuesIn(kDialects),
                         [](const auto& dialect) {
                           return std::string("Of").append(std::to_string(dialect.index));
                         });

TEST_F(KinetoImport, TellsGzipByItsContent) {
  const std::string text = training_step(kToday);
  ASSERT_OK(import({write_gzip("packed.json", text)}).status());
  const auto packed = ops(*store());
  ASSERT_OK(import({write("plain.json.gz", text)}).status());
  EXPECT_EQ(ops(*store()), packed);
  EXPECT_THAT(packed, SizeIs(9));
}

TEST_F(KinetoImport, ReadsAllMembersOfAGzipFileAndIgnoresWhatFollows) {
  const std::string text = training_step(kToday);
  const fs::path head = write_gzip("head", text.substr(0, 1000));
  const fs::path tail = write_gzip("tail", text.substr(1000));
  std::ofstream both(dir_ / "both.gz", std::ios::binary);
  for (const fs::path& part : {head, tail}) both << std::ifstream(part, std::ios::binary).rdbuf();
  both << "garbage";
  both.close();
  ASSERT_OK(import({dir_ / "both.gz"}).status());
  EXPECT_THAT(ops(*store()), SizeIs(9));
}

// Epochs of five batches, 20 ms apart. Each ends with a wait that finds the loader exhausted.
TEST_F(KinetoImport, AWaitThatFindsTheLoaderExhaustedBeginsNoStep) {
  const auto kinds = [this](bool with_ops, double pause) {
    TraceText t(kToday);
    double at = 0;
    const auto wait = [&](double us) {
      t.event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "1",
              at, us);
      t.event("cpu_op", "aten::stack", "1", at + 1, 2);  // inside the wait
      at += us + 1;
    };
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (int batch = 0; batch < 5; ++batch) {
        wait(100);
        if (with_ops) t.event("cpu_op", "aten::linear", "1", at, 300);
        t.event("user_annotation", "Optimizer.step#SGD.step", "1", at + 400, 50);
        at += 500;
      }
      wait(20);
      at += pause;
    }
    EXPECT_OK(import({write("t.json", t.text())}).status());
    std::string found;
    const auto phases = store()->phases();
    for (const Phase& phase : *phases)
      found += phase.kind == PhaseKind::kInput      ? "i"
               : phase.kind == PhaseKind::kInputEnd ? "e"
                                                    : "";
    return found;
  };
  EXPECT_EQ(kinds(true, 20'000), "iiiiieiiiiieiiiiii") << "after the last there may be more";
  EXPECT_EQ(kinds(false, 20'000), "iiiiieiiiiieiiiiii");
  EXPECT_EQ(kinds(true, 300), "iiiiiiiiiiiiiiiiii") << "a batch may have been skipped";
}

// Without ops, nothing shows which batches are worked with.
TEST_F(KinetoImport, WaitsInATraceWithoutOpsAreAllWaits) {
  TraceText t(kToday);
  for (int i = 0; i < 10; ++i) {
    t.event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "1",
            i * 9000.0, 100);
  }
  ASSERT_OK(import({write("t.json", t.text())}).status());
  const auto phases = store()->phases();
  ASSERT_OK(phases.status());
  EXPECT_THAT(*phases, SizeIs(10));
  for (const Phase& phase : *phases) EXPECT_EQ(phase.kind, PhaseKind::kInput);
}

// The machine has run for two hours, so a time that never arrived, which is 0, is near.
TEST_F(KinetoImport, ALongTraceIsReadFromItsBeginning) {
  constexpr std::int64_t kHour = 3'600'000'000;
  TraceText t(kToday);
  const auto op_at = [&t](std::int64_t us) {
    t.raw(R"({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": )" +
          std::to_string(us) + R"(, "dur": 5})");
  };
  for (int i = 0; i <= 20; ++i) op_at(2 * kHour + i * kHour / 2);
  op_at(0);
  const auto summary = import({write("t.json", t.text())});
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->counts.ops, 21);
  EXPECT_EQ(summary->lost, 1);
  EXPECT_EQ(store()->meta_int("end_ns", 0), 10 * 3'600'000'000'000 + 5000);
}

TEST_F(KinetoImport, WhatHasNoTimeIsCountedNotStored) {
  TraceText t(kToday);
  for (int i = 0; i < 5; ++i) t.event("cpu_op", "aten::add", "1", 10.0 * i, 5);
  t.event("cpu_op", "negative", "1", 20, -3);
  t.raw(
      R"({"ph": "X", "cat": "kernel", "name": "never ran", "pid": 0, "tid": "stream 7", "ts": 0, "dur": 0})");
  t.raw(
      R"({"ph": "X", "cat": "cpu_op", "name": "no number", "pid": 1, "tid": 1, "ts": "x", "dur": 1})");
  t.raw(
      R"({"ph": "X", "cat": "cpu_op", "name": "too late", "pid": 1, "tid": 1, "ts": 9e30, "dur": 1})");
  const auto summary = import({write("t.json", t.text())});
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->lost, 4);
  EXPECT_EQ(summary->counts.ops, 5);
  EXPECT_EQ(summary->counts.kernels, 0);
  const auto losses = store()->losses();
  ASSERT_OK(losses.status());
  ASSERT_THAT(*losses, SizeIs(1));
  EXPECT_EQ(losses->front().kind, "bad_event");
  EXPECT_EQ(losses->front().count, 4);
}

TEST_F(KinetoImport, AnOpThatIsNotACompleteEventIsCountedNotStored) {
  const auto event = [](const char* phase, const char* category) {
    return R"({"ph": ")" + std::string(phase) + R"(", "cat": ")" + category +
           R"(", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 5, "dur": 1})";
  };
  TraceText t(kToday);
  t.event("cpu_op", "aten::add", "1", 0, 5);
  for (const char* other : {"E", "e", "n", "T", "p", "F", "s", "t", "f", "I", "i", "R", "C", "M"}) {
    t.raw(event(other, "cpu_op"));
  }
  for (const char* not_read : {"overhead", "python_function", "elsewhere"}) {
    t.raw(event("B", not_read));
  }
  for (const char* begins : {"B", "b", "S", "Q", "", "XX"}) t.raw(event(begins, "cpu_op"));
  const auto summary = import({write("t.json", t.text())});
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->counts.ops, 1);
  EXPECT_EQ(summary->incomplete, 6);
  EXPECT_EQ(summary->lost, 6);
  const auto losses = store()->losses();
  ASSERT_OK(losses.status());
  ASSERT_THAT(*losses, SizeIs(1));
  EXPECT_EQ(losses->front().kind, "incomplete");
  EXPECT_EQ(losses->front().count, 6);
}

// `value` in `depth` lists.
std::string nested(std::size_t depth, const std::string& value) {
  return std::string(depth, '[') + value + std::string(depth, ']');
}

TEST_F(KinetoImport, EventsMayNestWithoutLimit) {
  TraceText t(kToday);
  t.event("cpu_op", "aten::add", "1", 0, 5, R"("Input Dims": )" + nested(100'000, "1"));
  t.event("cpu_op", "aten::mul", "1", 10, 5, R"("unknown": {"a": )" + nested(100'000, "1") + "}");
  const auto summary = import({write("t.json", t.text())});
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->counts.ops, 2);
  EXPECT_EQ(summary->lost, 0);
}

TEST_F(KinetoImport, AMemberThatNestsTooDeeplyIsSkipped) {
  const auto rank = [&](std::size_t depth) {
    Dialect dialect = kToday;
    const std::string before =
        R"("distributedInfo": {"rank": 5, "more": )" + nested(depth, "1") + "},";
    dialect.before = before.c_str();
    EXPECT_OK(import({write("t.json", training_step(dialect))}).status());
    return store()->processes().front().rank;
  };
  EXPECT_EQ(rank(1000), 5);
  EXPECT_EQ(rank(1024), -1);
}

TEST_F(KinetoImport, AnImpossibleCorrelationJoinsNothing) {
  TraceText t(kToday);
  t.event("cuda_runtime", "cudaLaunchKernel", "1", 1, 2, R"("correlation": 99999999999999999999)");
  t.event("kernel", "k", "stream 7", 4, 2, R"("correlation": -1)");
  ASSERT_OK(import({write("t.json", t.text())}).status());
  const auto reader = store();
  ASSERT_OK(reader->for_each_api_call([](const ApiCall& call) { EXPECT_EQ(call.correlation, 0); }));
  ASSERT_OK(
      reader->for_each_kernel([](const Kernel& kernel) { EXPECT_EQ(kernel.correlation, 0); }));
  EXPECT_EQ(reader->losses()->front().count, 2);
}

TEST_F(KinetoImport, MemoryOfTensorsBecomesCounters) {
  TraceText t(kToday);
  t.event("cpu_op", "aten::empty", "1", 0, 5);
  const auto memory = [&](double at, int type, int allocated, int device = 0) {
    t.raw(
        R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": )" +
        relative(at) + R"(, "args": {"Total Reserved": 9000, "Total Allocated": )" +
        std::to_string(allocated) + R"(, "Bytes": 8, "Device Id": )" + std::to_string(device) +
        R"(, "Device Type": )" + std::to_string(type) + "}}");
  };
  memory(1, 0, 100);
  memory(2, 0, 700);  // the peak of this millisecond
  memory(3, 0, 50, -1);
  memory(2000, 0, 60, -1);  // the host, as torch 2 numbers it
  memory(2001, 1, 4096);
  memory(2002, 1, 5000, 1);  // another device: a series of its own
  memory(2003, 1, 5000, -1);
  ASSERT_OK(import({write("t.json", t.text())}).status());
  const auto reader = store();
  std::vector<std::string> samples;
  ASSERT_OK(reader->for_each_sample([&](const Sample& sample) {
    samples.push_back(std::string(reader->text(sample.counter)) + " " +
                      std::to_string(to_ns(sample.at)) + " " + std::to_string(sample.value) +
                      " gpu " + std::to_string(sample.gpu));
    return true;
  }));
  EXPECT_THAT(samples,
              ElementsAre("cpu_tensor_bytes 2000 700 gpu -1", "cpu_tensor_bytes 2000000 60 gpu -1",
                          "device_allocated_bytes 2001000 4096 gpu 0",
                          "device_reserved_bytes 2001000 9000 gpu 0",
                          "device_allocated_bytes 2002000 5000 gpu 1",
                          "device_reserved_bytes 2002000 9000 gpu 1"));
}

TEST_F(KinetoImport, ABrokenFileLeavesNothingBehindAndAnEarlierStoreAlone) {
  ASSERT_OK(import({write("good.json", training_step(kToday))}).status());
  const auto before = names_in_folder();
  const std::string text = training_step(kToday);
  const fs::path cut = write("cut.json", text.substr(0, 2000));
  expect_error(import({cut}).status(), ErrorKind::kBadInput, cut, {"byte ", "cut off"});
  fs::remove(cut);
  EXPECT_EQ(names_in_folder(), before);
  EXPECT_THAT(ops(*store()), SizeIs(9));
}

TEST_F(KinetoImport, PartialKeepsWhatCameBefore) {
  const std::string text = training_step(kToday);
  const fs::path cut = write("cut.json", text.substr(0, text.find("Optimizer.step")));
  const auto summary = import({cut}, /*partial=*/true);
  ASSERT_OK(summary.status());
  EXPECT_THAT(summary->files.front().broken, HasSubstr("cut off"));
  const auto reader = store();
  EXPECT_EQ(reader->losses()->front().kind, "unread");
  EXPECT_THAT(reader->meta("recording_stopped").value_or(""), HasSubstr("cut.json: byte "));
  EXPECT_THAT(ops(*reader), SizeIs(6));
}

TEST_F(KinetoImport, SaysWhatIsWrongWithAFile) {
  const auto error = [this](const fs::path& file, ErrorKind kind, const std::string& what) {
    for (const bool partial : {false, true}) {
      expect_error(import({file}, partial).status(), kind, file, {what});
      EXPECT_FALSE(fs::exists(out_));
    }
  };
  error(dir_ / "absent.json", ErrorKind::kNotFound, "No such file");
  error(dir_.path(), ErrorKind::kIo, "Is a directory");
  error(write("empty.json", ""), ErrorKind::kBadInput, "empty");
  error(write("page.json", "<!DOCTYPE html>"), ErrorKind::kBadInput, "byte 0: not a trace");
  error(write("other.json",
              R"({"traceEvents": [{"ph": "X", "cat": "FEE", "name": "v8", "ts": 1, "dur": 2}]})"),
        ErrorKind::kBadInput, "no event of the PyTorch profiler");
  error(write("list.json", R"({"a": [1, 2]})"), ErrorKind::kBadInput,
        "no event of the PyTorch profiler");
  const fs::path packed = write_gzip("packed.gz", std::string(100000, ' ') + "{}");
  fs::resize_file(packed, fs::file_size(packed) - 9);
  error(packed, ErrorKind::kBadInput, "ends early");
  std::fstream(packed, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(12)
      .write("\xff\xff\xff\xff", 4);
  error(packed, ErrorKind::kBadInput, "byte ");
}

TEST_F(KinetoImport, RefusesToReplaceWhatIsNoStore) {
  const fs::path good = write("good.json", training_step(kToday));
  std::ofstream(out_) << "a letter to my mother";
  EXPECT_EQ(import({good}).status().kind(), ErrorKind::kBadInput);
  EXPECT_EQ(import_traces({good}, good, {}).status().kind(), ErrorKind::kUsage);
  EXPECT_THAT(names_in_folder(), ElementsAre("good.json", "run.db"));
}

TEST_F(KinetoImport, StopsWhenItIsTold) {
  ImportOptions options;
  options.progress = [](std::int64_t, std::int64_t) { return false; };
  const fs::path good = write("good.json", training_step(kToday));
  EXPECT_FALSE(import_traces({good}, out_, options).ok());
  EXPECT_THAT(names_in_folder(), ElementsAre("good.json"));
}

// Real traces, recorded by others.
class RealTrace : public KinetoImport {
 protected:
  fs::path trace(const std::string& name) {
    return testing::source_folder() / ".." / "shared" / "traces" / name;
  }
};

TEST_F(RealTrace, OfAV100HasAllItsEventsAndNoLoss) {
  struct Expected {
    const char* file;
    ImportCounts counts;
  };
  const Expected expected[] = {
      {"resnet50_v100_workers0.pt.trace.json.gz", {23646, 30, 11923, 8772, 12, 312, 0, 0}},
      {"resnet50_v100_workers4.pt.trace.json.gz", {20562, 30, 12085, 8868, 12, 378, 0, 0}}};
  for (const Expected& e : expected) {
    if (!fs::exists(trace(e.file))) GTEST_SKIP() << "no trace at " << trace(e.file);
    const auto summary = import({trace(e.file)});
    ASSERT_OK(summary.status());
    EXPECT_EQ(summary->counts.ops, e.counts.ops);
    EXPECT_EQ(summary->counts.phases, e.counts.phases);
    EXPECT_EQ(summary->counts.calls, e.counts.calls);
    EXPECT_EQ(summary->counts.kernels, e.counts.kernels);
    EXPECT_EQ(summary->counts.copies, e.counts.copies);
    EXPECT_EQ(summary->counts.memsets, e.counts.memsets);
    EXPECT_EQ(summary->lost, 0);
    // Host self time is that of the roots, whoever adds it up.
    std::int64_t self = 0, roots = 0;
    ASSERT_OK(store()->for_each_op([&](const Op& op) {
      self += to_ns(op.self);
      roots += op.depth == 0 ? to_ns(op.dur) : 0;
      return true;
    }));
    EXPECT_EQ(self, roots);
  }
}

}  // namespace
}  // namespace stepscope
