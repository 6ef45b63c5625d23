// The views, as a person asks them: on a run whose every time is known.
#include <gtest/gtest.h>

#include <string>

#include "store/analysis.h"
#include "store/sqlite.h"
#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using testing::SyntheticRun;
using testing::TempDir;

class Views : public ::testing::Test {
 protected:
  void make(const SyntheticRun& run, bool analysed) {
    testing::make_store(dir_ / "run.db", run, analysed);
    auto database = Database::open(dir_ / "run.db", SQLITE_OPEN_READONLY);
    ASSERT_OK(database.status());
    database_ = *std::move(database);
  }

  // All rows, columns parted by '|' and rows by a newline: as sqlite3 prints them.
  std::string ask(const std::string& sql) {
    auto rows = database_.prepare(sql);
    if (!rows.ok()) return rows.status().message();
    std::string text;
    const int columns = sqlite3_column_count(rows->handle());
    while (true) {
      const Result<bool> row = rows->next();
      if (!row.ok()) return row.status().message();
      if (!*row) return text;
      for (int i = 0; i < columns; ++i) text += (i > 0 ? "|" : "") + rows->text(i);
      text += '\n';
    }
  }

  // Changes the store behind the views.
  Status write(const std::string& sql) {
    auto database = Database::open(dir_ / "run.db", SQLITE_OPEN_READWRITE);
    return database.ok() ? database->exec(sql.c_str()) : database.status();
  }

  TempDir dir_;
  Database database_;
};

TEST_F(Views, StepBreakdownAddsUpToTheStep) {
  make({.steps = 3, .slow_step = 1}, true);
  EXPECT_EQ(ask("SELECT number, start_ns, dur_ns, dur_ms, input_ns, compute_ns, host_ns, copy_ns,"
                " hidden_ns, marker, steady, ops_recorded FROM step_breakdown"),
            "1|1000000|4800000|4.8|3000000|1760000|40000|0|0|loader|0|1\n"
            "2|5800000|31800000|31.8|30000000|1760000|40000|0|0|loader|1|1\n"
            "3|37600000|4800000|4.8|3000000|1760000|40000|0|0|loader|1|1\n");
}

TEST_F(Views, StepBreakdownHasAColumnForEachCategory) {
  make({.steps = 1}, true);
  std::string sum = "0";
  for (int i = 0; i < kCategoryCount; ++i) {
    sum += std::string(" + ") + category_name(static_cast<Category>(i)) + "_ns";
  }
  EXPECT_EQ(ask("SELECT count(*) FROM step_breakdown WHERE dur_ns = " + sum), "1\n");
}

TEST_F(Views, OpStatsKnowCallsTotalSelfAndPhase) {
  make({.steps = 5}, false);
  EXPECT_EQ(ask("SELECT * FROM op_stats WHERE phase = 'forward' ORDER BY name DESC"),
            "aten::linear|forward|function|20|3200000|1600000|160000|160000|160000\n"
            "aten::addmm|forward|function|20|1600000|1600000|80000|80000|80000\n");
  EXPECT_EQ(ask("SELECT name, scope, calls FROM op_stats WHERE phase = 'backward' ORDER BY 1"),
            "aten::mm|function|20\n"
            "autograd::engine::evaluate_function: AddmmBackward0|backward_function|20\n");
  EXPECT_EQ(ask("SELECT sum(calls), sum(self_ns) FROM op_stats"),
            std::to_string(SyntheticRun{.steps = 5}.op_count()) + "|" +
                std::to_string(5 * (640'000 + 720'000 + 400'000)) + "\n");
}

TEST_F(Views, InputStatsNameTheLoaderAndTheStepOnceAnalysed) {
  const std::string query =
      "SELECT loader, start_ns, dur_ns, cpu_ns, busy_share, step FROM input_stats";
  make({.steps = 2, .input_busy = 0.25}, false);
  EXPECT_EQ(ask(query),
            "train loader|1000000|3000000|750000|0.25|\n"
            "train loader|5800000|3000000|750000|0.25|\n");
  make({.steps = 2, .input_busy = 0.25}, true);
  EXPECT_EQ(ask(query),
            "train loader|1000000|3000000|750000|0.25|1\n"
            "train loader|5800000|3000000|750000|0.25|2\n");
}

TEST_F(Views, InputStatsLeaveTheStepOutForAWaitInNone) {
  const SyntheticRun run{.steps = 3};
  testing::make_store(dir_ / "run.db", run);
  {
    Analysis analysis = testing::true_analysis(run);
    analysis.steps.erase(analysis.steps.begin() + 1);
    auto writer = TraceWriter::open(dir_ / "run.db");
    ASSERT_OK(writer.status());
    ASSERT_OK((*writer)->replace_analysis(analysis));
  }
  auto database = Database::open(dir_ / "run.db", SQLITE_OPEN_READONLY);
  ASSERT_OK(database.status());
  database_ = *std::move(database);
  EXPECT_EQ(ask("SELECT step FROM input_stats ORDER BY start_ns"), "1\n\n3\n");
}

TEST_F(Views, TimelineHasEverythingWithAName) {
  make({.steps = 2, .step_marks = true}, true);
  EXPECT_EQ(ask("SELECT track, count(*) FROM timeline GROUP BY track"),
            "op|48\nphase|11\nstep|2\n");
  EXPECT_EQ(ask("SELECT process, thread, track, name, start_ns, dur_ns FROM timeline"
                " WHERE start_ns < 4100000 ORDER BY start_ns, dur_ns DESC"),
            "train|train|step|step 1|1000000|4800000\n"
            "train|train|phase|input: train loader|1000000|3000000\n"
            "train|train|phase|forward|4000000|640000\n"
            "train|train|op|aten::linear|4000000|160000\n"
            "train|train|op|aten::addmm|4040000|80000\n");
}

TEST_F(Views, RunEndSaysInWhichOpAProcessDiedAndWhatItHeld) {
  make({.steps = 3, .rank = 1, .killed_by = 9, .samples = true}, false);
  EXPECT_EQ(
      ask("SELECT process, pid, rank, how, code, out_of_memory, step, at_ns, rss_bytes, thread,"
          " tid, op, phase, open_ops FROM run_end"),
      "train|4242|1|signal|9|0|4|15400000|1024000000|train|4242|aten::addmm|forward|2\n");
}

TEST_F(Views, RunEndHasARowAlsoWithoutAnOpOrASample) {
  make({.steps = 1}, false);
  EXPECT_EQ(ask("SELECT * FROM run_end"), "");
  {
    auto writer = TraceWriter::open(dir_ / "run.db");
    ASSERT_OK(writer.status());
    ASSERT_OK(
        (*writer)->add(ProcessEnd{ProcessId{1}, EndKind::kExit, 3, session_time(9), 0, false}));
    ASSERT_OK((*writer)->finish());
  }
  EXPECT_EQ(ask("SELECT process, how, code, step, rss_bytes, op FROM run_end"),
            "train|exit|3|||\n");
}

TEST_F(Views, CounterTellsGpusApart) {
  make({.steps = 1}, false);
  ASSERT_OK(
      write("INSERT INTO string VALUES (900, 'gpu_power_mw');"
            "INSERT INTO sample VALUES (NULL, 900, 0, 100000, 0), (NULL, 900, 0, 400000, 1),"
            " (NULL, 900, 1000000000, 110000, 0)"));
  EXPECT_EQ(
      ask("SELECT process, counter, gpu, at_ns, value, per_second FROM counter ORDER BY 3, 4"),
      "machine|gpu_power_mw|0|0|100000|\n"
      "machine|gpu_power_mw|0|1000000000|110000|10000.0\n"
      "machine|gpu_power_mw|1|0|400000|\n");
}

TEST_F(Views, CounterHasNamesAndRates) {
  make({.steps = 2, .samples = true}, false);
  EXPECT_EQ(ask("SELECT process, pid, counter, at_ns, value, round(per_second) FROM counter"
                " ORDER BY counter, at_ns"),
            "machine||memory_available_bytes|1000000|8000000000|\n"
            "machine||memory_available_bytes|5800000|8000000000|0.0\n"
            "train|4242|read_bytes|1000000|0|\n"
            "train|4242|read_bytes|5800000|5000000|1041666667.0\n"
            "train|4242|rss_bytes|1000000|1000000000|\n"
            "train|4242|rss_bytes|5800000|1012000000|2500000000.0\n");
}

TEST_F(Views, TimelineHasTheOpsThatNeverEnded) {
  make({.steps = 1, .killed_by = 11}, false);
  EXPECT_EQ(ask("SELECT name, start_ns, dur_ns FROM timeline WHERE track = 'unfinished'"),
            "aten::linear|5780000|20000\naten::addmm|5790000|10000\n");
}

// One look at an op per query, not one per name or per step.
TEST_F(Views, NoViewWalksTheOpsMoreThanOnce) {
  make({.steps = 2}, true);
  for (const char* view : {"op_stats", "timeline"}) {
    const std::string plan = ask(std::string("EXPLAIN QUERY PLAN SELECT * FROM ") + view);
    std::size_t scans = 0;
    for (std::size_t at = plan.find("SCAN op\n"); at != std::string::npos;
         at = plan.find("SCAN op\n", at + 1)) {
      ++scans;
    }
    EXPECT_EQ(scans, 1u) << view << ":\n" << plan;
    EXPECT_EQ(plan.find("AUTOMATIC"), std::string::npos) << view << ":\n" << plan;
  }
  for (const char* view : {"step_breakdown", "input_stats"}) {
    const std::string plan = ask(std::string("EXPLAIN QUERY PLAN SELECT * FROM ") + view);
    EXPECT_EQ(plan.find("op\n"), std::string::npos) << view << ":\n" << plan;
    EXPECT_NE(plan.find("USING INDEX"), std::string::npos) << view << ":\n" << plan;
  }
}

// 20 µs of a tensor-core kernel in aten::addmm, 30 µs of another in the backward of aten::linear,
// and 20 µs of copies: a step has 70 µs of device work.
TEST_F(Views, KernelStatsTellTheShapeTheOpAndTheShare) {
  const std::string query =
      "SELECT name, op, device, calls, total_ns, mean_ns, min_ns, max_ns, round(device_share, 4),"
      " grid, block, registers, shared_bytes, occupancy, limited_by, tensor_cores FROM kernel_stats"
      " ORDER BY name";
  make({.steps = 3, .device = true}, true);
  EXPECT_EQ(ask(query),
            "ampere_s16816gemm_fp16|aten::addmm|0|3|60000|20000|20000|20000|0.2857|98x1x1|128x1x1|"
            "37|16384|0.5625|shared memory|1\n"
            "ampere_sgemm_128x64_nt|aten::mm|0|3|90000|30000|30000|30000|0.4286|98x1x1|128x1x1|"
            "37|16384|0.5625|shared memory|\n");
  make({.steps = 3, .device = true}, false);
  EXPECT_EQ(ask(query),
            "ampere_s16816gemm_fp16||0|3|60000|20000|20000|20000|0.2857|98x1x1|128x1x1|"
            "37|16384|||\n"
            "ampere_sgemm_128x64_nt||0|3|90000|30000|30000|30000|0.4286|98x1x1|128x1x1|"
            "37|16384|||\n");
}

TEST_F(Views, KernelOpsTellWhatLaunchedAKernel) {
  make({.steps = 2, .device = true}, true);
  EXPECT_EQ(ask("SELECT kernel, phase, launched_in, op, node, forward_op, call, thread, activities"
                " FROM kernel_ops WHERE kernel_id <= 2"),
            "ampere_s16816gemm_fp16|forward|op|aten::addmm|||cudaLaunchKernel|train|1\n"
            "ampere_sgemm_128x64_nt|backward|op|aten::mm|autograd::engine::evaluate_function:"
            " AddmmBackward0|aten::linear|cudaLaunchKernel|autograd|1\n");
  ASSERT_OK(
      write("UPDATE launch SET op_id = NULL WHERE api_call_id = 1;"
            "DELETE FROM launch WHERE api_call_id = 3"));
  EXPECT_EQ(ask("SELECT launched_in, op, thread FROM kernel_ops WHERE kernel_id <= 2"),
            "no op||train\n"
            "unknown||\n");
}

TEST_F(Views, CopyStatsTellBandwidthAndWhatRanBeside) {
  const std::string query =
      "SELECT direction, source, target, pinned, device, stream, copies, bytes, total_ns, mean_ns,"
      " gb_per_second, kernel_ns, overlap_share FROM copy_stats";
  make({.steps = 3, .device = true}, true);
  EXPECT_EQ(ask(query), "HtoD|pinned|device|1|0|7|3|3000000|60000|20000|50.0|30000|0.5\n");
  ASSERT_OK(
      write("UPDATE copy SET source = 1 WHERE id = 1; UPDATE copy SET source = 3 WHERE id = 2;"
            "UPDATE copy SET target = 0, source = 0 WHERE id = 3"));
  EXPECT_EQ(ask("SELECT source, target, pinned, copies FROM copy_stats ORDER BY source"),
            "device|device||1\npageable|device|0|1\nunknown|unknown||1\n");
}

TEST_F(Views, StreamStatsTellBusyAndIdle) {
  make({.steps = 2, .device = true}, true);
  // From 60 µs after the first forward pass began to 90 µs after the second backward pass did.
  const std::int64_t span = 4'800'000 + 640'000 + 90'000 - 60'000;
  EXPECT_EQ(ask("SELECT device, stream, kernels, copies, memsets, kernel_ns, copy_ns, busy_ns,"
                " idle_ns, first_ns, last_ns FROM stream_stats"),
            "0|7|4|2|0|100000|40000|120000|" + std::to_string(span - 120'000) + "|4060000|" +
                std::to_string(4'060'000 + span) + "\n");
  make({.steps = 2, .device = true}, false);
  EXPECT_EQ(ask("SELECT kernels, busy_ns, idle_ns FROM stream_stats"), "4||\n");
}

TEST_F(Views, OpDeviceStatsCountACallWithinACallOnce) {
  make({.steps = 2, .device = true}, true);
  ASSERT_OK(
      write("INSERT INTO api_call SELECT NULL, thread_id, name_id, start_ns, dur_ns, correlation"
            " FROM api_call WHERE id = 1"));
  EXPECT_EQ(ask("SELECT name, calls, device_self_ns FROM op_device_stats ORDER BY name"),
            "aten::addmm|2|40000\naten::linear|2|40000\naten::mm|2|60000\n");
}

TEST_F(Views, LineStatsAreSharesOfTheSamplesOfEachThread) {
  make({.steps = 1}, false);
  ASSERT_OK(write(
      "INSERT INTO string VALUES (101, '/data.py'), (102, 'main'), (103, 'decode'), (104, 'poll');"
      "INSERT INTO watched_thread VALUES (1, 1, 77, 77, 'main'), (2, 1, 77, 78, 'worker');"
      "INSERT INTO frame VALUES (1, NULL, 102, 101, 3), (2, 1, 103, 101, 9), (3, 1, 103, 101, "
      "NULL),"
      " (4, 2, 103, 101, 9);"
      "INSERT INTO stack_sample VALUES (NULL, 1, 10, 1, 0, 104), (NULL, 1, 20, 2, 0, NULL),"
      " (NULL, 1, 30, 4, 0, NULL), (NULL, 1, 40, 1, 0, 104), (NULL, 2, 10, 3, 1, NULL)"));
  EXPECT_EQ(ask("SELECT tid, thread, file, line, function, samples, blocked, awaited, share"
                " FROM line_stats ORDER BY tid, line"),
            "77|main|/data.py|3|main|2|2|0|0.5\n"
            "77|main|/data.py|9|decode|2|0|0|0.5\n"
            "78|worker|/data.py||decode|1|0|1|1.0\n");
}

}  // namespace
}  // namespace stepscope
