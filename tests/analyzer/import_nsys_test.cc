// Exports of Nsight Systems, made here table by table, into a store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/import/import.h"
#include "analyzer/import/nsys.h"
#include "store/trace_reader.h"
#include "tests/analyzer/nsys_report.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class NsysImport : public ::testing::Test {
 protected:
  // `sql` may say $T and $P for the thread and the process.
  fs::path write(std::string sql) {
    const fs::path path = dir_ / "report.sqlite";
    fs::remove(path);
    sql = testing::with_global_ids(std::move(sql));
    sqlite3* handle = nullptr;
    sqlite3_open(path.c_str(), &handle);
    char* error = nullptr;
    sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &error);
    EXPECT_EQ(error, nullptr) << error;
    sqlite3_close(handle);
    return path;
  }
  Result<ImportSummary> import(const std::string& sql, const std::string& steps = "") {
    ImportOptions options;
    options.steps_nvtx = steps;
    return import_traces({write(sql)}, out_, options);
  }

  const testing::TempDir dir_;
  const fs::path out_ = dir_ / "run.db";
};

TEST_F(NsysImport, ReadsTheTablesThatThereAre) {
  const auto summary = import(testing::kNsysReport, "step *");
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->counts.ops, 4);
  EXPECT_EQ(summary->lost, 1);  // the copy that ended before it began
  const auto reader = testing::open_store(out_);
  EXPECT_EQ(reader->meta_int("wall_start_unix_ns", 0), 1700000000000000500);
  ASSERT_THAT(reader->threads(), SizeIs(1));
  EXPECT_EQ(reader->threads()[0].tid, 43);
  EXPECT_EQ(reader->threads()[0].name, "main loop");
  ASSERT_THAT(reader->processes(), SizeIs(1));
  EXPECT_EQ(reader->processes()[0].pid, 42);
  EXPECT_EQ(reader->processes()[0].name, "python3");
  ASSERT_THAT(reader->devices(), SizeIs(1));
  EXPECT_EQ(reader->devices()[0].name, "H100");
  EXPECT_EQ(reader->devices()[0].multiprocessors, 132);
  EXPECT_EQ(reader->streams()[0].number, 13);

  std::vector<std::string> ops;
  ASSERT_OK(reader->for_each_op([&](const Op& op) {
    ops.push_back(std::string(reader->text(op.name)) + " " + std::to_string(to_ns(op.start)) + " " +
                  std::to_string(to_ns(op.self)) + " " + std::to_string(op.sequence) + " " +
                  std::to_string(static_cast<int>(op.scope)));
    return true;
  }));
  EXPECT_THAT(ops, ElementsAre("main loop 600 800 -1 7", "aten::mm 1500 1000 5 0",
                               "step 1 500 6200 -1 7", "step 2 8500 10000 -1 7"));
  const auto phases = reader->phases();
  ASSERT_OK(phases.status());
  ASSERT_THAT(*phases, SizeIs(2));
  EXPECT_EQ(phases->front().kind, PhaseKind::kStep);
  EXPECT_EQ(to_ns(phases->front().dur), 8000);

  std::int64_t launched = 0;
  ASSERT_OK(reader->for_each_api_call([&](const ApiCall& call) {
    EXPECT_EQ(reader->text(call.name), "cudaLaunchKernel");
    launched = call.correlation;
  }));
  ASSERT_OK(reader->for_each_kernel([&](const Kernel& kernel) {
    EXPECT_EQ(reader->text(kernel.name), "sgemm");
    EXPECT_EQ(kernel.correlation, launched);
    EXPECT_THAT(kernel.block, ElementsAre(8, 9, 10));
    EXPECT_EQ(kernel.registers, 64);
  }));
  ASSERT_OK(reader->for_each_copy([](const Copy& copy) {
    EXPECT_EQ(to_ns(copy.start), 0);
    EXPECT_EQ(copy.kind, CopyKind::kHostToDevice);
    EXPECT_EQ(copy.source, MemoryKind::kPageable);
    EXPECT_EQ(copy.target, MemoryKind::kDevice);
  }));
  ASSERT_OK(reader->for_each_sync([](const Sync& sync) {
    EXPECT_EQ(sync.kind, SyncKind::kContext);
    EXPECT_EQ(sync.stream, StreamId::kNone);
  }));
}

TEST_F(NsysImport, AnyTableMayBeMissing) {
  ASSERT_OK(
      import(
          R"(CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, streamId INTEGER);
      INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (5, 9, 7);)")
          .status());
  const auto reader = testing::open_store(out_);
  std::int64_t memsets = 0;
  ASSERT_OK(reader->for_each_memset([&](const Memset&) { ++memsets; }));
  EXPECT_EQ(memsets, 1);
  EXPECT_FALSE(reader->meta("wall_start_unix_ns").has_value());
}

TEST_F(NsysImport, SaysWhatIsWrong) {
  const fs::path path = dir_ / "report.sqlite";
  expect_error(import("CREATE TABLE t (a)").status(), ErrorKind::kBadInput, path, {"nsys export"});
  expect_error(import(testing::kNsysReport, "epoch *").status(), ErrorKind::kUsage, path,
               {"epoch *"});
  write(testing::kNsysReport);
  fs::resize_file(path, 8192);
  expect_error(import_traces({path}, out_, {}).status(), ErrorKind::kBadInput, path);
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(NsysImport, StepsWithoutAValidTimeAreNotCalledMissing) {
  const std::string ended = "UPDATE NVTX_EVENTS SET end = start - 5 WHERE text LIKE 'step %';";
  const fs::path path = dir_ / "report.sqlite";
  expect_error(import(testing::kNsysReport + ended, "step *").status(), ErrorKind::kBadInput, path,
               {"2 NVTX ranges match 'step *', but none has a valid start and end"});
  expect_error(import(testing::kNsysReport + ended, "step 1").status(), ErrorKind::kBadInput, path,
               {"1 NVTX range matches 'step 1'"});
  ASSERT_OK(import(testing::kNsysReport + ended).status());
}

TEST_F(NsysImport, ATruncatedFileIsSaidWhereverItWasCut) {
  const fs::path path = write(testing::kNsysReport);
  const std::uintmax_t size = fs::file_size(path);
  for (const std::uintmax_t missing : {1U, 100U, 4000U}) {
    fs::resize_file(path, size - missing);
    expect_error(import_traces({path}, out_, {}).status(), ErrorKind::kBadInput, path,
                 {"cut off, " + std::to_string(size - missing) + " of " + std::to_string(size)});
    EXPECT_FALSE(fs::exists(out_)) << missing;
    write(testing::kNsysReport);
  }
  write(std::string(testing::kNsysReport) + "PRAGMA journal_mode = WAL;");
  fs::resize_file(path, size - 1);
  expect_error(import_traces({path}, out_, {}).status(), ErrorKind::kBadInput, path, {"cut off"});
  write(testing::kNsysReport);
  fs::resize_file(path, size - 1);
  ImportOptions partial;
  partial.partial = true;
  const auto summary = import_traces({path}, out_, partial);
  ASSERT_OK(summary.status());
  EXPECT_THAT(summary->files.front().broken, HasSubstr("cut off"));
  EXPECT_EQ(testing::open_store(out_)->meta("recording_stopped"), summary->files.front().broken);
}

// Other people's databases: to read a view could take for ever, and a table may hold anything.
TEST_F(NsysImport, AViewUnderATablesNameIsRefused) {
  const std::string sql =
      std::string(testing::kNsysReport) +
      "DROP TABLE NVTX_EVENTS; CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start)"
      " AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start FROM n;";
  expect_error(import(sql).status(), ErrorKind::kBadInput, dir_ / "report.sqlite",
               {"NVTX_EVENTS is not a plain table"});
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(NsysImport, ATimeThatIsNoNumberIsNoTime) {
  for (const char* time : {"'abc'", "x'00'", "NULL", "9e999", "-1"}) {
    const auto summary =
        import(std::string(testing::kNsysReport) + "UPDATE NVTX_EVENTS SET start = " + time +
               " WHERE text = 'step 1';");
    ASSERT_OK(summary.status());
    EXPECT_EQ(summary->counts.ops, 3) << time;
    EXPECT_EQ(summary->lost, 2) << time;
  }
}

TEST_F(NsysImport, WhatCannotBeIsNotKnown) {
  const std::string sql =
      std::string(testing::kNsysReport) +
      "UPDATE TARGET_INFO_GPU SET totalMemory = -1, smCount = 9000000000;"
      "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 9223372036854775807;"
      "UPDATE NVTX_EVENTS SET text = 'aten::mm, seq = -9223372036854775808, op_id = 12'"
      " WHERE start = 2000;";
  ASSERT_OK(import(sql).status());
  const auto reader = testing::open_store(out_);
  EXPECT_EQ(reader->devices()[0].memory_bytes, 0);
  EXPECT_EQ(reader->devices()[0].multiprocessors, 0);
  ASSERT_OK(reader->for_each_copy([](const Copy& copy) { EXPECT_EQ(copy.bytes, 0); }));
  ASSERT_OK(reader->for_each_op([](const Op& op) {
    EXPECT_EQ(op.sequence, -1);
    return true;
  }));
}

// nsys and CUPTI number kinds of memory differently.
TEST_F(NsysImport, TheKindsOfACopyAreThoseOfNsys) {
  const auto copied = [this](int kind, int source, int target) {
    const std::string sql =
        std::string(testing::kNsysReport) +
        "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = " + std::to_string(kind) +
        ", srcKind = " + std::to_string(source) + ", dstKind = " + std::to_string(target) + ";";
    EXPECT_TRUE(import(sql).status().ok());
    std::string names;
    const auto reader = testing::open_store(out_);
    EXPECT_TRUE(reader
                    ->for_each_copy([&](const Copy& copy) {
                      names = std::string(copy_kind_name(copy.kind)) + " " +
                              memory_kind_name(copy.source) + " " + memory_kind_name(copy.target);
                    })
                    .ok());
    return names;
  };
  EXPECT_EQ(copied(1, 0, 2), "HtoD pageable device");
  EXPECT_EQ(copied(2, 2, 1), "DtoH device pinned");
  EXPECT_EQ(copied(10, 3, 5), "PtoP array device_static");
  EXPECT_EQ(copied(11, 4, 6), "HtoD managed managed_static");
  EXPECT_EQ(copied(13, 7, 8), "DtoD unknown unknown");
  EXPECT_EQ(copied(14, -1, 2), "unknown unknown device");
}

TEST_F(NsysImport, TheLaunchOfACudaGraphIsDeviceWork) {
  const std::string sql = std::string(testing::kNsysReport) + testing::kNsysGraph +
                          "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL;";
  ASSERT_OK(import(sql).status());
  const auto reader = testing::open_store(out_);
  std::vector<std::string> kernels;
  ASSERT_OK(reader->for_each_kernel([&](const Kernel& kernel) {
    kernels.push_back(std::string(reader->text(kernel.name)) + " " +
                      std::to_string(to_ns(kernel.dur)) + " " + std::to_string(kernel.graph));
    EXPECT_NE(kernel.correlation, 0);
  }));
  EXPECT_THAT(kernels, ElementsAre("CUDA graph 109 400 109"));
}

TEST_F(NsysImport, WallClockTimesCountFromTheSessionsStart) {
  std::string sql = testing::kNsysReport;
  for (const char* table :
       {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"}) {
    sql += std::string("UPDATE ") + table +
           " SET start = start + 1700000000000000000, end = end + 1700000000000000000;";
  }
  const auto summary = import(sql, "step *");
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->counts.ops, 4);
  EXPECT_EQ(summary->lost, 1);  // the copy that ended before it began
  const auto reader = testing::open_store(out_);
  EXPECT_EQ(reader->meta_int("wall_start_unix_ns", 0), 1700000000000000500);
  ASSERT_OK(reader->for_each_copy([](const Copy& copy) { EXPECT_EQ(to_ns(copy.start), 0); }));
}

// Those that push and pop make are ops too.
TEST_F(NsysImport, RangesThatStartAndEndCanBeSteps) {
  const auto summary = import(testing::kNsysReport, "across*");
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->counts.ops, 4);
  const auto phases = testing::open_store(out_)->phases();
  ASSERT_OK(phases.status());
  ASSERT_THAT(*phases, SizeIs(1));
  EXPECT_EQ(phases->front().kind, PhaseKind::kStep);
  EXPECT_EQ(to_ns(phases->front().dur), 500);
}

TEST_F(NsysImport, ALoaderWithoutWorkersWorksItself) {
  for (const auto& [loader, busy_ns] :
       {std::pair("_SingleProcessDataLoaderIter", 8000), std::pair("_MultiProcessing", 0)}) {
    const std::string sql = std::string(testing::kNsysReport) +
                            "UPDATE NVTX_EVENTS SET text = 'enumerate(DataLoader)#" + loader +
                            ".__next__' WHERE text = 'step 1';";
    ASSERT_OK(import(sql).status());
    const auto phases = testing::open_store(out_)->phases();
    ASSERT_OK(phases.status());
    ASSERT_THAT(*phases, SizeIs(1));
    EXPECT_EQ(phases->front().kind, PhaseKind::kInput);
    EXPECT_EQ(to_ns(phases->front().cpu), busy_ns) << loader;
  }
}

TEST_F(NsysImport, RangesOfAutogradAreTheBackwardPass) {
  ASSERT_OK(import(std::string(testing::kNsysReport) +
                   "INSERT INTO NVTX_EVENTS VALUES"
                   " (4000, 5000, 59, 'autograd::engine::evaluate_function: MmBackward0, seq = 5,"
                   " op_id = 13', NULL, $T + 1),"
                   " (4100, 4900, 59, 'MmBackward0, seq = 5, op_id = 14', NULL, $T + 1),"
                   " (6000, 7000, 59, 'Optimizer.step#SGD.step', NULL, $T);")
                .status());
  const auto reader = testing::open_store(out_);
  std::vector<std::string> nodes;
  ASSERT_OK(reader->for_each_op([&](const Op& op) {
    if (op.scope == OpScope::kBackwardFunction) nodes.emplace_back(reader->text(op.name));
    return true;
  }));
  EXPECT_THAT(nodes, ElementsAre("autograd::engine::evaluate_function: MmBackward0"));
  const auto phases = reader->phases();
  ASSERT_OK(phases.status());
  std::vector<std::string> kinds;
  for (const Phase& phase : *phases) {
    kinds.push_back(std::string(phase_name(phase.kind)) + " " + std::to_string(to_ns(phase.dur)));
  }
  EXPECT_THAT(kinds, ElementsAre("backward 1000", "optimizer 1000"));
}

TEST_F(NsysImport, ActivitiesWithoutAProcessBelongToTheOnlyOne) {
  ASSERT_OK(import(std::string(testing::kNsysReport) +
                   "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = NULL;"
                   "UPDATE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SET globalPid = 0;")
                .status());
  const auto reader = testing::open_store(out_);
  EXPECT_THAT(reader->processes(), SizeIs(1));
  std::int64_t launched = 0;
  ASSERT_OK(reader->for_each_api_call([&](const ApiCall& call) { launched = call.correlation; }));
  ASSERT_OK(reader->for_each_kernel(
      [&](const Kernel& kernel) { EXPECT_EQ(kernel.correlation, launched); }));
}

TEST(NvtxNames, OfPytorchsOpsCarryNumbers) {
  EXPECT_EQ(parse_nvtx_name("aten::mm, seq = 5, op_id = 12").sequence, 5);
  EXPECT_EQ(parse_nvtx_name("aten::mm, op_id = 12").name, "aten::mm");
  EXPECT_TRUE(parse_nvtx_name("aten::mm, op_id = 12").op);
  EXPECT_FALSE(parse_nvtx_name("step 1").op);
  EXPECT_EQ(parse_nvtx_name("step 1").name, "step 1");
}

}  // namespace
}  // namespace stepscope
