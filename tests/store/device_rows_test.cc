// What devices did goes into a store and comes out of it, and SQL can join it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/device_events.h"
#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using ::testing::ElementsAre;
using testing::TempDir;

// A process with a device and two streams: a kernel, a copy, a memset and a wait.
class DeviceRows : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = TraceWriter::create(dir_ / "run.db");
    ASSERT_OK(created.status());
    TraceWriter& writer = **created;
    process_ = *writer.add_process({.pid = 7, .name = "train", .command = "./train"});
    thread_ = *writer.add_thread({.process = process_, .tid = 7, .name = "train"});
    device_ = *writer.add_device({process_, 3, "H\xff", 80'000'000'000, 9, 0, 132, 2048, 65536, 0});
    compute_ = *writer.add_stream({device_, 1, 7});
    copies_ = *writer.add_stream({device_, 1, 20});
    first_ = correlation_of(process_, 1);
    const StringId launch = writer.intern("cudaLaunchKernel");
    call_ = {thread_, launch, session_time(10), Duration(4), first_};
    kernel_ = {{compute_, session_time(20), Duration(30), first_},
               writer.intern("gemm"),
               {2, 3, 4},
               {128, 1, 1},
               255,
               1024,
               2048,
               5,
               6};
    copy_ = {{copies_, session_time(21), Duration(9), 0},
             CopyKind::kHostToDevice,
             MemoryKind::kPageable,
             MemoryKind::kDevice,
             4096};
    memset_ = {{compute_, session_time(60), Duration(0), correlation_of(process_, 0xFFFFFFFF)}, 8};
    sync_ = {device_, StreamId::kNone, SyncKind::kContext, session_time(61), Duration(5), first_};
    ASSERT_OK(writer.add(call_));
    ASSERT_OK(writer.add(kernel_));
    ASSERT_OK(writer.add(copy_));
    ASSERT_OK(writer.add(memset_));
    ASSERT_OK(writer.add(sync_));
    Op op;
    op.thread = thread_;
    op.name = writer.intern("aten::mm");
    op.start = session_time(5);
    op.dur = op.self = Duration(10);
    ASSERT_OK(writer.add(op));
    ASSERT_OK(writer.finish());
  }

  std::vector<std::string> column(const std::string& sql) {
    auto database = Database::open(dir_ / "run.db", SQLITE_OPEN_READONLY);
    auto rows = database->prepare(sql);
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    std::vector<std::string> values;
    while (*rows->next()) values.push_back(rows->text(0));
    return values;
  }

  TempDir dir_;
  ProcessId process_{};
  ThreadId thread_{};
  DeviceId device_{};
  StreamId compute_{}, copies_{};
  std::int64_t first_ = 0;
  ApiCall call_;
  Kernel kernel_;
  Copy copy_;
  Memset memset_;
  Sync sync_;
};

bool same(const Activity& a, const Activity& b) {
  return a.stream == b.stream && a.start == b.start && a.dur == b.dur &&
         a.correlation == b.correlation;
}

TEST_F(DeviceRows, ComeOutAsTheyWentIn) {
  const auto reader = testing::open_store(dir_ / "run.db");
  ASSERT_EQ(reader->devices().size(), 1u);
  const StoredDevice& device = reader->devices()[0];
  EXPECT_EQ(device.number, 3);
  EXPECT_EQ(device.name, "H\xEF\xBF\xBD");  // U+FFFD
  EXPECT_EQ(device.memory_bytes, 80'000'000'000);
  EXPECT_EQ(device.compute_major * 10 + device.compute_minor, 90);
  EXPECT_EQ(device.shared_bytes_per_multiprocessor, 0);
  ASSERT_EQ(reader->streams().size(), 2u);
  EXPECT_EQ(reader->streams()[1].number, 20);

  int seen = 0;
  ASSERT_OK(reader->for_each_api_call([&](const ApiCall& call) {
    ++seen;
    EXPECT_EQ(call.correlation, first_);
    EXPECT_EQ(reader->text(call.name), "cudaLaunchKernel");
    EXPECT_EQ(call.dur, Duration(4));
  }));
  ASSERT_OK(reader->for_each_kernel([&](const Kernel& kernel) {
    ++seen;
    EXPECT_TRUE(same(kernel, kernel_));
    EXPECT_EQ(kernel.grid, kernel_.grid);
    EXPECT_EQ(kernel.block, kernel_.block);
    EXPECT_EQ(kernel.registers, 255);
    EXPECT_EQ(kernel.static_shared_bytes * 10'000 + kernel.dynamic_shared_bytes, 10'242'048);
    EXPECT_EQ(kernel.graph * 10 + kernel.graph_node, 56);
  }));
  ASSERT_OK(reader->for_each_copy([&](const Copy& copy) {
    ++seen;
    EXPECT_TRUE(same(copy, copy_));
    EXPECT_EQ(copy.kind, CopyKind::kHostToDevice);
    EXPECT_EQ(copy.source, MemoryKind::kPageable);
    EXPECT_EQ(copy.target, MemoryKind::kDevice);
    EXPECT_EQ(copy.bytes, 4096);
  }));
  ASSERT_OK(reader->for_each_memset([&](const Memset& memset) {
    ++seen;
    EXPECT_TRUE(same(memset, memset_));
    EXPECT_EQ(memset.bytes, 8);
  }));
  ASSERT_OK(reader->for_each_sync([&](const Sync& sync) {
    ++seen;
    EXPECT_EQ(sync.device, device_);
    EXPECT_EQ(sync.stream, StreamId::kNone);
    EXPECT_EQ(sync.kind, SyncKind::kContext);
    EXPECT_EQ(sync.dur, Duration(5));
  }));
  EXPECT_EQ(seen, 5);
}

TEST_F(DeviceRows, TheNumbersOfKindsHaveTheNamesOfTheCode) {
  const auto names = [](auto name_of, int count) {
    std::vector<std::string> result;
    for (int i = 0; i < count; ++i) result.push_back(name_of(i));
    return result;
  };
  EXPECT_EQ(column("SELECT name FROM copy_kind ORDER BY id"),
            names([](int i) { return copy_kind_name(static_cast<CopyKind>(i)); }, 11));
  EXPECT_EQ(column("SELECT name FROM memory_kind ORDER BY id"),
            names([](int i) { return memory_kind_name(static_cast<MemoryKind>(i)); }, 8));
  EXPECT_EQ(column("SELECT name FROM sync_kind ORDER BY id"),
            names([](int i) { return sync_kind_name(static_cast<SyncKind>(i)); }, 5));
}

TEST_F(DeviceRows, WhatIsUnknownIsNull) {
  EXPECT_THAT(column("SELECT id FROM copy WHERE correlation IS NULL"), ElementsAre("1"));
  EXPECT_THAT(column("SELECT compute_minor FROM device"), ElementsAre("0"));
  EXPECT_THAT(column("SELECT id FROM device WHERE shared_bytes_per_multiprocessor IS NULL"),
              ElementsAre("1"));
  EXPECT_THAT(column("SELECT id FROM sync WHERE stream_id IS NULL"), ElementsAre("1"));
}

// What a program gone wild says of its device must not make a store that readers refuse.
TEST_F(DeviceRows, WhatCannotBeIsNull) {
  const auto path = dir_ / "wild.db";
  auto writer = TraceWriter::create(path);
  ASSERT_OK(writer.status());
  Device device;
  device.process = *(*writer)->add_process({.pid = 1, .name = "train", .command = "./train"});
  device.memory_bytes = -1;
  device.multiprocessors = 132;
  device.max_threads_per_multiprocessor = 425035157098;
  ASSERT_OK((*writer)->add_device(device).status());
  ASSERT_OK((*writer)->finish());
  const auto reader = TraceReader::open(path);
  ASSERT_OK(reader.status());
  const StoredDevice& read = (*reader)->devices().at(0);
  EXPECT_EQ(read.multiprocessors, 132);
  EXPECT_EQ(read.max_threads_per_multiprocessor, 0);
  EXPECT_EQ(read.memory_bytes, 0);
}

TEST_F(DeviceRows, TheViewsNameWhatADeviceDid) {
  EXPECT_THAT(column("SELECT kind || ' ' || name || ' on ' || device || '/' || stream"
                     " FROM device_activity ORDER BY start_ns"),
              ElementsAre("kernel gemm on 3/7", "copy HtoD on 3/20", "memset memset on 3/7"));
  EXPECT_THAT(
      column("SELECT track || ' ' || name || ' of ' || process || ': ' || thread"
             " FROM timeline ORDER BY start_ns"),
      ElementsAre("op aten::mm of train: train", "api_call cudaLaunchKernel of train: train",
                  "kernel gemm of train: stream 7", "copy HtoD of train: stream 20",
                  "memset memset of train: stream 7"));
}

TEST_F(DeviceRows, AnAnalysisJoinsOpsToKernelsAndSplitsStepsByDevice) {
  Analysis analysis;
  Step step;
  step.number = 1;
  step.thread = thread_;
  step.dur = Duration(100);
  step.times = {{Category::kCompute, PhaseKind::kNone, "", Duration(60), Duration(0), device_},
                {Category::kInput, PhaseKind::kNone, "", Duration(40), Duration(7), device_}};
  analysis.steps = {step};
  Verdict verdict;
  verdict.thread = thread_;
  verdict.kind = "input-bound";
  verdict.device = device_;
  analysis.verdicts = {verdict};
  analysis.call_ops = {{1, 1}};
  analysis.priority_times = {{thread_, 1, Duration(1'500), Duration(0), Duration(0), Duration(0),
                              Duration(0), Duration(0), Duration(500)}};
  auto writer = TraceWriter::open(dir_ / "run.db");
  ASSERT_OK(writer.status());
  for (int twice = 0; twice < 2; ++twice) ASSERT_OK((*writer)->replace_analysis(analysis));
  ASSERT_OK((*writer)->finish());

  EXPECT_THAT(column("SELECT op_name.text || ' ' || kernel_name.text FROM op"
                     " JOIN call_op ON call_op.op_id = op.id"
                     " JOIN api_call ON api_call.id = call_op.api_call_id"
                     " JOIN kernel USING (correlation)"
                     " JOIN string AS op_name ON op_name.id = op.name_id"
                     " JOIN string AS kernel_name ON kernel_name.id = kernel.name_id"),
              ElementsAre("aten::mm gemm"));
  EXPECT_THAT(column("SELECT device_id || ' ' || compute_ns || ' ' || input_ns || ' ' || hidden_ns"
                     " FROM step_breakdown"),
              ElementsAre("1 60 40 7"));
  EXPECT_THAT(column("SELECT step || ' ' || kernel_us || ' ' || other_us FROM priority_breakdown"),
              ElementsAre("1 1.5 0.5"));
  const auto read = testing::open_store(dir_ / "run.db")->analysis();
  ASSERT_OK(read.status());
  ASSERT_EQ(read->steps.size(), 1u);
  ASSERT_EQ(read->steps[0].times.size(), 2u);
  EXPECT_EQ(read->steps[0].times[1].device, device_);
  ASSERT_EQ(read->verdicts.size(), 1u);
  EXPECT_EQ(read->verdicts[0].device, device_);
}

TEST_F(DeviceRows, CorrelationsOfProcessesNeverMeet) {
  EXPECT_NE(correlation_of(ProcessId{1}, 5), correlation_of(ProcessId{2}, 5));
  EXPECT_NE(correlation_of(ProcessId{1}, 0xFFFFFFFF), correlation_of(ProcessId{2}, 0));
  EXPECT_THAT(column("SELECT correlation FROM memset"),
              ElementsAre(std::to_string((std::int64_t{1} << 32) + 0xFFFFFFFFLL)));
}

}  // namespace
}  // namespace stepscope
