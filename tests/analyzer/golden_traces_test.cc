// Two real traces of the same program (ResNet-50 on a V100; its loader in the main process, then
// with four workers), with the figures that an independent tool gave for them: the older breakdown,
// which we keep for comparison, must be those to the microsecond. And what ours says of the same
// traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/import/import.h"
#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using ::testing::ElementsAre;
using testing::TempDir;

// Imports and analyses the trace of a name, and answers from the store.
class GoldenTrace : public ::testing::Test {
 protected:
  void load(const std::string& name) {
    const auto trace = std::filesystem::path(STEPSCOPE_SOURCE_DIR) / "../shared/traces" /
                       (name + ".pt.trace.json.gz");
    if (!std::filesystem::exists(trace)) GTEST_SKIP() << trace << " is not there";
    ASSERT_OK(import_traces({trace}, dir_ / "run.db", {}).status());
    {
      const auto reader = TraceReader::open(dir_ / "run.db");
      ASSERT_OK(reader.status());
      auto report = analyze(**reader, {});
      ASSERT_OK(report.status());
      report_ = *std::move(report);
    }
    auto writer = TraceWriter::open(dir_ / "run.db");
    ASSERT_OK(writer.status());
    ASSERT_OK((*writer)->replace_analysis(to_analysis(report_)));
    ASSERT_OK((*writer)->finish());
  }

  std::vector<std::string> rows(const std::string& sql) {
    auto database = Database::open(dir_ / "run.db", SQLITE_OPEN_READONLY);
    auto statement = database->prepare(sql);
    EXPECT_TRUE(statement.ok()) << statement.status().message();
    std::vector<std::string> values;
    while (statement.ok() && *statement->next()) values.push_back(statement->text(0));
    return values;
  }

  std::vector<std::string> priority_rows() {
    return rows(
        "SELECT printf('%d: %d %d %d %d %d %d %d', step, kernel_us, memcpy_us, memset_us,"
        " runtime_us, dataloader_us, cpu_op_us, other_us) FROM priority_breakdown ORDER BY step");
  }

  // Self time of ops on the host without the API calls made in them: how the same tool counts it.
  std::vector<std::string> host_self() {
    return rows(
        "WITH own AS (SELECT op.id, op.name_id, coalesce(self_ns, dur_ns) AS ns FROM op"
        "  JOIN string ON string.id = op.name_id WHERE text NOT LIKE 'ProfilerStep#%'"
        "  AND text NOT LIKE 'enumerate(%' AND text NOT LIKE 'Optimizer.%')"
        " SELECT ((sum(ns) - (SELECT sum(dur_ns) FROM api_call JOIN call_op ON api_call_id ="
        "  api_call.id WHERE op_id IN (SELECT id FROM own))) / 1000) || ' over ' ||"
        " count(DISTINCT name_id) FROM own");
  }

  TempDir dir_;
  AnalysisReport report_;
};

TEST_F(GoldenTrace, LoaderInTheMainProcess) {
  load("resnet50_v100_workers0");
  if (IsSkipped()) return;
  EXPECT_THAT(priority_rows(), ElementsAre("5: 98598 1941 90 2796 69317 14091 1115",
                                           "6: 98570 1947 89 2762 57669 12968 1148",
                                           "7: 98596 1931 91 2877 61257 13768 1213",
                                           "8: 98623 1938 89 2841 56453 13420 1200",
                                           "9: 98504 1937 87 2788 62690 15025 1141",
                                           "10: 98641 1798 88 3381 48185 12773 1117"));
  EXPECT_THAT(rows("SELECT printf('%.2f', 100 * utilization) FROM device_utilization"),
              ElementsAre("55.51"));
  EXPECT_THAT(
      rows("SELECT (sum(device_self_ns) / 1000) || ' over ' || count(*) FROM op_device_stats"),
      ElementsAre("603558 over 23"));
  EXPECT_THAT(host_self(), ElementsAre("548817 over 76"));

  const LoopReport& loop = report_.loops.at(0);
  EXPECT_EQ(loop.verdict.kind, "input-bound");
  EXPECT_EQ(loop.verdict.degree, "highly");
  EXPECT_EQ(loop.steps.front().number, 5);
}

TEST_F(GoldenTrace, FourLoaderWorkers) {
  load("resnet50_v100_workers4");
  if (IsSkipped()) return;
  EXPECT_THAT(
      priority_rows(),
      ElementsAre("5: 99778 3606 98 41028 4341 27460 5995", "6: 99208 2948 98 3406 0 16404 4119",
                  "7: 99114 2949 98 3417 6 19521 2076", "8: 99021 2975 97 3544 0 15464 1978",
                  "9: 98791 3596 97 8275 1370 43905 7427",
                  "10: 98956 2885 98 3714 1400 13235 3910"));
  EXPECT_THAT(rows("SELECT printf('%.2f', 100 * utilization) FROM device_utilization"),
              ElementsAre("70.27"));
  EXPECT_THAT(
      rows("SELECT (sum(device_self_ns) / 1000) || ' over ' || count(*) FROM op_device_stats"),
      ElementsAre("614413 over 23"));
  EXPECT_THAT(host_self(), ElementsAre("491379 over 69"));

  const LoopReport& loop = report_.loops.at(0);
  EXPECT_NE(loop.verdict.kind, "input-bound");
  EXPECT_LT(share_of(loop.shares, Category::kInput), 0.05);
}

// Each instant once, on the real traces too.
TEST_F(GoldenTrace, ExposedTimesAddUpToTheSteps) {
  for (const char* name : {"resnet50_v100_workers0", "resnet50_v100_workers4"}) {
    load(name);
    if (IsSkipped()) return;
    EXPECT_THAT(rows("SELECT count(*) FROM step_breakdown WHERE dur_ns <> compute_ns + input_ns +"
                     " copy_ns + communication_ns + sync_ns + launch_ns + allocation_ns + host_ns +"
                     " other_ns"),
                ElementsAre("0"));
    EXPECT_THAT(rows("SELECT count(*) FROM step_breakdown"), ElementsAre("6"));
  }
}

// Predictions rest on this: the dependencies read off the trace give the measured step.
class GoldenReplay : public GoldenTrace, public ::testing::WithParamInterface<const char*> {};

TEST_P(GoldenReplay, WithoutAChangeGivesTheMeasuredStep) {
  load(GetParam());
  if (IsSkipped()) return;
  for (const LoopReport& loop : report_.loops) {
    EXPECT_EQ(loop.replay.withheld, "");
    EXPECT_EQ(loop.replay.steps, static_cast<std::int64_t>(loop.analysed.size()));
    EXPECT_LT(loop.replay.error, 0.02);
  }
}

INSTANTIATE_TEST_SUITE_P(V100, GoldenReplay,
                         ::testing::Values("resnet50_v100_workers0", "resnet50_v100_workers4"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace stepscope
