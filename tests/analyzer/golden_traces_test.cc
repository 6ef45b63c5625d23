// Two real traces of the same program (ResNet-50 on a V100; its loader in the main process, then
// with four workers), with the figures that an independent tool gave for them: the older breakdown,
// which we keep for comparison, must be those to the microsecond. And what ours says of the same
// traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/device/occupancy.h"
#include "analyzer/import/byte_source.h"
#include "analyzer/import/import.h"
#include "present/stored_analysis.h"
#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/source_folder.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using ::testing::ElementsAre;
using testing::TempDir;

Device v100() {
  Device device;
  device.compute_major = 7;
  return device;
}

std::string text_of(const std::filesystem::path& path) {
  auto source = open_bytes(path);
  EXPECT_TRUE(source.ok()) << source.status().message();
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16);
  for (std::size_t count = 1; source.ok() && count > 0;) {
    const auto got = (*source)->read(buffer.data(), buffer.size());
    EXPECT_TRUE(got.ok()) << got.status().message();
    count = got.ok() ? *got : 0;
    text.append(buffer.data(), count);
  }
  return text;
}

// Imports and analyses the trace of a name, and answers from the store.
class GoldenTrace : public ::testing::Test {
 protected:
  static std::filesystem::path trace_of(const std::string& name) {
    return testing::source_folder() / "../shared/traces" / (name + ".pt.trace.json.gz");
  }

  void load(const std::string& name) {
    const auto trace = trace_of(name);
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

// What the profiler says of each kernel: how many blocks a multiprocessor got, and the occupancy
// that they can have reached, by the occupancy calculator of its CUDA. Ours must give the same,
// rounded.
TEST_F(GoldenTrace, TheoreticalOccupancyIsThatOfTheProfiler) {
  for (const char* name : {"resnet50_v100_workers0", "resnet50_v100_workers4"}) {
    const auto trace = trace_of(name);
    if (!std::filesystem::exists(trace)) GTEST_SKIP() << trace << " is not there";
    const std::string text = text_of(trace);
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    ASSERT_EQ(parser.parse(text).get(document), simdjson::SUCCESS);
    std::int64_t kernels = 0;
    for (const simdjson::dom::element event : document["traceEvents"].get_array()) {
      std::string_view category;
      if (event["cat"].get(category) != simdjson::SUCCESS || category != "Kernel") continue;
      const simdjson::dom::element args = event["args"];
      const auto integer = [](simdjson::dom::element value) { return value.get_int64().value(); };
      BlockNeeds block{1, integer(args["registers per thread"]), integer(args["shared memory"])};
      for (const simdjson::dom::element size : args["block"].get_array())
        block.threads *= integer(size);
      const auto fits = theoretical_occupancy(*limits_of(v100()), block);
      ASSERT_TRUE(fits.has_value());
      const double blocks =
          std::min(args["blocks per SM"].get_double().value(), static_cast<double>(fits->blocks));
      const double percent = 100 * blocks * static_cast<double>(block.threads) / 2048;
      EXPECT_NEAR(percent, args["est. achieved occupancy %"].get_double().value(), 0.501);
      ++kernels;
    }
    EXPECT_GT(kernels, 8'000);
  }
}

// Each figure was counted in the trace itself by a few lines of Python; what launched a kernel is
// there told by its external id.
TEST_F(GoldenTrace, ViewsOfKernelsCopiesAndStreams) {
  load("resnet50_v100_workers0");
  if (IsSkipped()) return;
  EXPECT_THAT(rows("SELECT printf('%s %d %d', op, count(*), sum(dur_ns) / 1000) FROM kernel_ops"
                   " WHERE launched_in = 'op' GROUP BY op ORDER BY count(*) DESC, op LIMIT 6"),
              ElementsAre("aten::add_ 2994 24098", "aten::fill_ 978 1887", "aten::mul_ 966 2409",
                          "aten::cudnn_convolution_backward_input 816 130967",
                          "aten::cudnn_convolution_backward_weight 684 141933",
                          "aten::cudnn_convolution 606 126619"));
  EXPECT_THAT(rows("SELECT count(*) FROM kernel_ops WHERE launched_in <> 'op'"), ElementsAre("0"));
  EXPECT_THAT(
      rows("SELECT printf('%s %d', forward_op, sum(dur_ns) / 1000) FROM kernel_ops WHERE op LIKE"
           " 'aten::%_backward%' GROUP BY forward_op ORDER BY sum(dur_ns) DESC LIMIT 3"),
      ElementsAre("aten::cudnn_convolution 272900", "aten::cudnn_batch_norm 61939",
                  "aten::relu_ 27298"));
  EXPECT_THAT(rows("SELECT count(*) FROM kernel_ops WHERE node IS NOT NULL AND forward_op IS NULL"),
              ElementsAre("0"));
  EXPECT_THAT(
      rows("SELECT printf('%d %d %.4f', sum(calls), sum(total_ns) / 1000, sum(device_share))"
           " FROM kernel_stats"),
      ElementsAre("8772 591532 0.9801"));
  EXPECT_THAT(rows("SELECT count(*) FROM kernel_stats WHERE occupancy IS NULL"), ElementsAre("0"));
  // No name of these says anything of tensor cores.
  EXPECT_THAT(rows("SELECT count(*) FROM kernel_stats WHERE tensor_cores IS NOT NULL"),
              ElementsAre("0"));
  EXPECT_THAT(rows("SELECT printf('%s %s %d %d %d %d %.2f %d', direction, source, pinned, copies,"
                   " bytes, total_ns / 1000, gb_per_second, kernel_ns) FROM copy_stats"),
              ElementsAre("HtoD pageable 0 12 115607040 11492 10.06 0"));
  EXPECT_THAT(rows("SELECT printf('%d %d %d %d %d', kernels, copies, memsets, busy_ns / 1000,"
                   " idle_ns / 1000) FROM stream_stats"),
              ElementsAre("8772 12 312 603558 392919"));
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
    EXPECT_EQ(loop.replay.withheld, Withheld::kNothing);
    EXPECT_EQ(loop.replay.steps, static_cast<std::int64_t>(loop.analysed.size()));
    EXPECT_LT(loop.replay.error, 0.02);
  }
}

INSTANTIATE_TEST_SUITE_P(V100, GoldenReplay,
                         ::testing::Values("resnet50_v100_workers0", "resnet50_v100_workers4"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace stepscope
