// Exports of Nsight Systems, made here table by table, into a store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/import/import.h"
#include "analyzer/import/nsys.h"
#include "store/trace_reader.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// pid 42, thread 43.
constexpr const char* kThread = "((1 << 48) | (42 << 24) | 43)";
constexpr const char* kProcess = "((1 << 48) | (42 << 24))";

class NsysImport : public ::testing::Test {
 protected:
  // `sql` may say $T and $P for the thread and the process.
  fs::path write(std::string sql) {
    const fs::path path = dir_ / "report.sqlite";
    fs::remove(path);
    for (const auto& [word, value] : {std::pair("$T", kThread), std::pair("$P", kProcess)}) {
      for (std::size_t at = 0; (at = sql.find(word, at)) != std::string::npos;) {
        sql.replace(at, 2, value);
      }
    }
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

constexpr const char* kReport = R"(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'sgemm'), (3, 'main loop'), (4, 'python');
  CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);
  INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '');
  CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER);
  INSERT INTO TARGET_INFO_GPU VALUES (0, 'H100', 80000000000, 132);
  CREATE TABLE ThreadNames (globalTid INTEGER, nameId INTEGER, priority INTEGER);
  INSERT INTO ThreadNames VALUES ($T, 3, 0);
  CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
  INSERT INTO PROCESSES VALUES ($P, 42, 'python3');
  CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
  INSERT INTO NVTX_EVENTS VALUES (1000, 9000, 59, 'step 1', NULL, $T), (1100, 1900, 59, NULL, 3, $T),
    (2000, 3000, 59, 'aten::mm, seq = 5, op_id = 12', NULL, $T), (2500, NULL, 34, 'mark', NULL, $T),
    (9000, 9500, 60, 'across threads', NULL, $T), (9000, 19000, 59, 'step 2', NULL, $T);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2100, 2200, $T, 7, 1, 0);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
    blockX INTEGER, blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2300, 2900, 0, 1, 13, 7, $P, 2, 2, 5, 6, 7, 8, 9, 10, 64);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (500, 700, 0, 1, 13, 6, $P, 4096, 1, 0, 2), (600, 500, 0, 1, 13, 6, $P, 1, 1, 0, 2);
  CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (3000, 4000, 0, 1, 4294967295, 8, $P, 4);
)";

TEST_F(NsysImport, ReadsTheTablesThatThereAre) {
  const auto summary = import(kReport, "step *");
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
    EXPECT_EQ(copy.target, MemoryKind::kPinned);
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
  expect_error(import(kReport, "epoch *").status(), ErrorKind::kUsage, path, {"epoch *"});
  write(kReport);
  fs::resize_file(path, 8192);
  expect_error(import_traces({path}, out_, {}).status(), ErrorKind::kBadInput, path);
  EXPECT_FALSE(fs::exists(out_));
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
