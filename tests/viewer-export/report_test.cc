// The report's data and the page around it. How it looks and behaves is tested in a browser
// (tests/browser/test_report_*.py).
#include "viewer-export/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"
#include "tests/viewer-export/testing/trace_stores.h"
#include "viewer-export/report/report_loops.h"
#include "viewer-export/report/report_page.h"
#include "viewer-export/report/script_data.h"
#include "viewer-export/report/tensor_owners.h"
#include "viewer-export/report/thin_out.h"

namespace stepscope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Json = nlohmann::json;

TEST(ScriptData, CannotEndItsElementOrBeginAComment) {
  EXPECT_EQ(script_data(R"({"a":"</script><!-- <b>"})"),
            R"({"a":"\u003c/script>\u003c!-- \u003cb>"})");
}

TEST(ScriptData, HoldsNoLineSeparators) {
  EXPECT_EQ(script_data("\"a\xe2\x80\xa8"
                        "b\xe2\x80\xa9\""),
            "\"a\\u2028b\\u2029\"");
  EXPECT_EQ(script_data("\"\xe2\x80\xa6 \xe2\x80\""), "\"\xe2\x80\xa6 \xe2\x80\"");  // others stay
}

TEST(ScriptData, MeansTheSame) {
  const Json document = {{"</script>", "\u2028 <!-- ]]> & \" \\ \x01"}, {"n", {1, 2.5, nullptr}}};
  EXPECT_EQ(Json::parse(script_data(document.dump())), document);
}

std::string page_of(const std::filesystem::path& store,
                    const ReportDocuments& documents = {"{}", ""},
                    const Analysis* analysis = nullptr) {
  const auto reader = open_store(store);
  StringSink sink;
  const auto stored = reader->analysis();
  EXPECT_TRUE(stored.ok());
  EXPECT_OK(write_report(*reader, analysis != nullptr ? *analysis : *stored, documents, sink));
  return sink.text();
}

// What stands in the element of this id.
Json data_of(const std::string& page, const std::string& id) {
  const std::string opening = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t begin = page.find(opening);
  if (begin == std::string::npos) return nullptr;
  const std::size_t end = page.find("</script>", begin);
  return Json::parse(page.substr(begin + opening.size(), end - begin - opening.size()));
}

class ReportTest : public ::testing::Test {
 protected:
  Json run_data(const SyntheticRun& run) {
    make_store(store_, run, /*analysed=*/true);
    return data_of(page_of(store_), "run");
  }

  const TempDir dir_;
  const std::filesystem::path store_ = dir_ / "run.db";
};

TEST_F(ReportTest, HoldsTheDocumentsAsTheyAre) {
  make_store(store_, SyntheticRun{.steps = 5}, true);
  const Json analysis = {{"verdict", "</script>"}, {"share", 0.1234567890123456}};
  const std::string page = page_of(store_, {analysis.dump(), R"({"change":"faster"})"});
  EXPECT_EQ(data_of(page, "analysis"), analysis);
  EXPECT_EQ(data_of(page, "comparison"), Json({{"change", "faster"}}));
}

TEST_F(ReportTest, HoldsNoComparisonWithoutABaseline) {
  make_store(store_, SyntheticRun{.steps = 5}, true);
  EXPECT_EQ(data_of(page_of(store_), "comparison"), nullptr);
}

TEST_F(ReportTest, NeedsNothingFromElsewhere) {
  make_store(store_, SyntheticRun{.steps = 5}, true);
  const std::string page = page_of(store_);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-")));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_LT(page.size(), 1'000'000U);
}

TEST_F(ReportTest, TellsEachStepsTimeToTheNanosecond) {
  const SyntheticRun run{.steps = 12, .slow_step = 7};
  const Json loops = run_data(run)["loops"];
  ASSERT_EQ(loops.size(), 1U);
  const Json& steps = loops[0]["steps"];
  EXPECT_EQ(steps["group"], 1);
  ASSERT_EQ(steps["number"].size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    const auto index = static_cast<int>(i);
    EXPECT_EQ(steps["wall_ns"][i], to_ns(run.step_dur(index)));
    std::int64_t sum = 0;
    for (const auto& [category, times] : steps["times"].items())
      sum += times[i].get<std::int64_t>();
    EXPECT_EQ(sum, to_ns(run.step_dur(index))) << i;
    EXPECT_EQ(steps["times"]["input"][i], to_ns(run.input_of(index)));
  }
}

TEST_F(ReportTest, CountsOpsOfTheAnalysedStepsOnly) {
  const SyntheticRun run{.steps = 10};
  make_store(store_, run, true);
  Analysis analysis = true_analysis(run);
  ASSERT_EQ(analysis.steps.size(), 10U);
  std::int64_t analysed = 0;
  for (Step& step : analysis.steps) {
    step.kinds = {{"input-bound", step.number > 4 ? 1 : 0, DeviceId::kNone}};
    analysed += step.number > 4 ? 1 : 0;
  }
  const Json data = data_of(page_of(store_, {"{}", ""}, &analysis), "run");
  EXPECT_EQ(data["placement"]["ops"], run.op_count() / 10 * analysed);
  std::int64_t calls = 0;
  for (const Json& row : data["ops"]) calls += row[3].get<std::int64_t>();
  EXPECT_EQ(calls, run.op_count() / 10 * analysed);
}

Analysis with_kinds(Analysis analysis) {
  for (Step& step : analysis.steps) step.kinds = {{"input-bound", 1, DeviceId::kNone}};
  return analysis;
}

TEST_F(ReportTest, DrawsTheSlowestMedianAndFastestStep) {
  const SyntheticRun run{.steps = 9, .slow_step = 5};
  make_store(store_, run, true);
  const Analysis analysis = with_kinds(true_analysis(run));
  const Json pictures = data_of(page_of(store_, {"{}", ""}, &analysis), "run")["pictures"];
  ASSERT_EQ(pictures.size(), 1U);
  EXPECT_EQ(pictures[0][0]["why"], "slowest");
  EXPECT_EQ(pictures[0][0]["number"], 6);
  EXPECT_EQ(pictures[0][1]["why"], "median");
  const Json& slices = pictures[0][1]["slices"];
  // Eight ops in each of three phases, one wait; all within the step.
  const auto count = [&](const char* track) {
    return std::ranges::count_if(slices, [&](const Json& slice) { return slice[0] == track; });
  };
  EXPECT_EQ(count("op"), run.op_count() / run.steps);
  EXPECT_GE(count("phase"), 3);
  for (const Json& slice : slices) {
    EXPECT_GE(slice[3].get<std::int64_t>(), 0);
    EXPECT_LE(slice[3].get<std::int64_t>() + slice[4].get<std::int64_t>(), to_ns(run.step_dur()));
  }
}

TEST_F(ReportTest, JoinsShortNeighboursSoThatBusyStaysBusy) {
  const SyntheticRun run{.steps = 3, .forward = Duration(64'000'000), .ops_per_phase = 4'000};
  make_store(store_, run, true);
  const Analysis analysis = with_kinds(true_analysis(run));
  const Json picture = data_of(page_of(store_, {"{}", ""}, &analysis), "run")["pictures"][0][0];
  EXPECT_LE(picture["slices"].size(), kReportSlices);
  EXPECT_GT(picture["resolution_ns"], 0);
  std::int64_t events = 0, busy = 0;
  for (const Json& slice : picture["slices"]) {
    if (slice[0] != "op") continue;
    events += slice[7].get<std::int64_t>();
    if (slice[2] == 0) busy += slice[4].get<std::int64_t>();
  }
  EXPECT_EQ(events, run.op_count() / run.steps);  // none is left out
  const std::int64_t outer = to_ns(run.forward + run.backward + run.optimizer);
  EXPECT_NEAR(static_cast<double>(busy), static_cast<double>(outer),
              0.01 * static_cast<double>(outer));
}

TEST_F(ReportTest, KeepsThePeaksOfACounter) {
  const Json series = run_data({.steps = 2'000, .ops_per_phase = 1, .samples = true})["series"];
  const auto found =
      std::ranges::find_if(series, [](const Json& one) { return one["counter"] == "rss_bytes"; });
  ASSERT_NE(found, series.end());
  const Json& rss = *found;
  EXPECT_EQ(rss["samples"], 2'000);
  EXPECT_LE(rss["value"].size(), kReportPoints);
  std::int64_t most = 0;
  for (const Json& value : rss["value"]) most = std::max(most, value.get<std::int64_t>());
  EXPECT_EQ(rss["peak"], most);
}

TEST_F(ReportTest, TellsWhatHeldTheMemoryOfTensors) {
  ASSERT_OK(make_tensor_store(store_));
  const Json run = data_of(page_of(store_), "run");
  ASSERT_EQ(run["tensors"].size(), 1U);
  const Json& tensors = run["tensors"][0];
  EXPECT_EQ(tensors["gpu"], nullptr);
  EXPECT_EQ(tensors["samples"], TensorRun::kSteps);
  EXPECT_EQ(tensors["peak_at_ns"], to_ns(SyntheticRun().step_start(TensorRun::kPeakStep - 1)));
  for (const char* phase : {"input", "forward", "backward", "optimizer", "other"}) {
    EXPECT_EQ(tensors["peak"][phase], TensorRun::bytes(phase, TensorRun::kPeakStep)) << phase;
    EXPECT_EQ(tensors["last"][phase], TensorRun::bytes(phase, TensorRun::kSteps)) << phase;
    for (int step = 1; step <= TensorRun::kSteps; ++step)
      EXPECT_EQ(tensors["bytes"][phase][static_cast<std::size_t>(step - 1)],
                TensorRun::bytes(phase, step));
  }
}

TEST_F(ReportTest, SaysNothingOfTensorsThatNobodyToldApart) {
  EXPECT_EQ(run_data({.steps = 5, .samples = true})["tensors"], Json::array());
}

TEST(TensorOwners, KeepsTheDevicesApart) {
  TensorOwners owners;
  const auto add = [&](std::string_view counter, std::int64_t gpu, std::int64_t ns,
                       std::int64_t value) {
    owners.add({ProcessId{1}, StringId::kNone, session_time(ns), value, gpu}, counter);
  };
  add("device_tensor_bytes_forward", 0, 10, 100);
  add("device_tensor_bytes_forward", 1, 10, 7);
  add("device_tensor_bytes_forward", 0, 20, 50);
  add("device_tensor_bytes_backward", 0, 20, 60);
  add("cpu_tensor_bytes_other", -1, 20, 3);
  add("cpu_tensor_bytes", -1, 20, 3);  // the sum is no phase
  const Json all = owners.json();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]["gpu"], nullptr);
  EXPECT_EQ(all[0]["peak"], Json({{"other", 3}}));
  EXPECT_EQ(all[1]["gpu"], 0);
  EXPECT_EQ(all[1]["peak_at_ns"], 20);
  EXPECT_EQ(all[1]["bytes"], Json({{"backward", {0, 60}}, {"forward", {100, 50}}}));
  EXPECT_EQ(all[2]["gpu"], 1);
}

TEST(ThinOut, KeepsTheExtremesOfEachStretchInTheirOrder) {
  std::vector<std::int64_t> values(1'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i % 10);
  values[333] = 1'000;
  values[777] = -1'000;
  const auto kept = thin_out(values, 20);
  EXPECT_LE(kept.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(kept));
  EXPECT_THAT(kept, IsSupersetOf({333U, 777U}));
  EXPECT_THAT(thin_out(std::vector<std::int64_t>{5, 5, 1}, 3), ElementsAre(0U, 1U, 2U));
}

TEST_F(ReportTest, TellsLongNamesByTheirBeginning) {
  ASSERT_OK(make_hostile_store(store_));
  const auto reader = open_store(store_);
  Analysis analysis = with_kinds(*reader->analysis());
  // The odd ops come after the last step: let it hold them.
  analysis.steps.back().dur = Duration(1'000'000'000);
  const Json run = data_of(page_of(store_, {"{}", ""}, &analysis), "run");
  std::size_t long_ones = 0;
  for (const Json& name : run["names"]) {
    EXPECT_LE(name.get<std::string>().size(), kReportNameBytes + 40);
    long_ones += name.get<std::string>().find("(20017 bytes)") != std::string::npos ? 1U : 0U;
  }
  EXPECT_EQ(long_ones, 1U);
}

TEST_F(ReportTest, SaysWhichWaitWasTheLongest) {
  const SyntheticRun run{.steps = 10, .slow_step = 4};
  make_store(store_, run, true);
  const Analysis analysis = with_kinds(true_analysis(run));
  const Json waits = data_of(page_of(store_, {"{}", ""}, &analysis), "run")["loops"][0]["waits"];
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0]["waits"], 10);
  EXPECT_EQ(waits[0]["max_ns"], to_ns(run.input_of(4)));
  EXPECT_EQ(waits[0]["p50_ns"], to_ns(run.input));
  EXPECT_EQ(waits[0]["longest"][0][0], 5);  // the step's number
}

// --- steps in columns
// -----------------------------------------------------------------------------

TEST(StepColumns, ThinsOutToMeansOfNeighbours) {
  std::vector<Step> steps(10);
  ReportLoop loop;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i) + 1;
    steps[i].number = number;
    steps[i].start = session_time(100 * static_cast<std::int64_t>(i));
    steps[i].dur = Duration(100);
    steps[i].times = {
        {Category::kInput, PhaseKind::kInput, "", Duration(10 * number), Duration(0)}};
    loop.steps.push_back(&steps[i]);
  }
  const Json columns = steps_json(loop, 4);
  EXPECT_EQ(columns["group"], 3);
  EXPECT_EQ(columns["number"], Json({1, 4, 7, 10}));
  EXPECT_EQ(columns["times"]["input"], Json({20, 50, 80, 100}));
  EXPECT_EQ(columns["wall_ns"], Json({100, 100, 100, 100}));
  EXPECT_EQ(columns["gap_ns"], Json({0, 0, 0, 0}));
  EXPECT_FALSE(columns["times"].contains("compute"));  // of which there is none
}

TEST(SegmentColumns, KeepTheLongestInTheirOrder) {
  std::vector<LoopSegment> segments(5);
  ReportLoop loop;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    segments[i].start = session_time(100 * static_cast<std::int64_t>(i));
    segments[i].dur = Duration(i % 2 == 0 ? 50 : 10 + static_cast<std::int64_t>(i));
    segments[i].step = static_cast<std::int64_t>(i);
    loop.segments.push_back(&segments[i]);
  }
  segments[4].kind = SegmentKind::kCheckpoint;
  const Json columns = segments_json(loop, 3);
  EXPECT_EQ(columns["step"], Json({0, 2, 4}));
  EXPECT_EQ(columns["start_ns"], Json({0, 200, 400}));
  EXPECT_EQ(columns["dur_ns"], Json({50, 50, 50}));
  EXPECT_EQ(columns["kind"], Json({"evaluation", "evaluation", "checkpoint"}));
  const Json all = segments_json(loop, 9);
  EXPECT_EQ(all["step"], Json({0, 1, 2, 3, 4}));
}

TEST(StepColumns, TenThousandStepsAreWellBelowThreeMegabytes) {
  std::vector<Step> steps(10'000);
  ReportLoop loop;
  SessionTime at = session_time(1'000'000);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    step.number = static_cast<std::int64_t>(i) + 1;
    step.start = at;
    for (int category = 0; category < kCategoryCount; ++category) {
      const Duration time(10'000'000 + 7'919 * step.number % 9'000'000);
      step.times.push_back(
          {static_cast<Category>(category), PhaseKind::kNone, "", time, Duration(0)});
      step.dur += time;
    }
    at += step.dur;
    loop.steps.push_back(&step);
  }
  const Json columns = steps_json(loop, kReportSteps);
  EXPECT_EQ(columns["group"], 1);
  const std::size_t page = kReportBeforeData.size() + kReportAfterData.size();
  EXPECT_LT(columns.dump().size() + page, 2'000'000U);
}

}  // namespace
}  // namespace stepscope::testing
