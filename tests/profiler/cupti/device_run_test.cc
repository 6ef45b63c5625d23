// `stepscope run` around a program that uses CUDA, by the stand-in: its kernels are in the store,
// joined to the ops that launched them, and the analysis and the timeline have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "store/trace_reader.h"
#include "tests/cli/binary.h"

namespace stepscope {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Outcome;
using ::testing::Pair;
using testing::run_stepscope;

constexpr int kSteps = 20;
constexpr int kKernelsInAStep = 7;  // 5 of them of one graph

class DeviceRunTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    store_ = ::testing::TempDir() + "/device-run-" + std::to_string(getpid()) + ".db";
    run_ =
        run_stepscope({"run", "-o", store_, "--", STEPSCOPE_CUDA_PROGRAM, std::to_string(kSteps)});
  }
  static void TearDownTestSuite() { std::filesystem::remove(store_); }

  static std::string store_;
  static Outcome run_;
};
std::string DeviceRunTest::store_;
Outcome DeviceRunTest::run_;

TEST_F(DeviceRunTest, TheStoreHasWhatTheDeviceDid) {
  ASSERT_EQ(run_.exit_code, 0) << run_.err;
  EXPECT_EQ(run_.out, "");
  const auto store = TraceReader::open(store_);
  ASSERT_TRUE(store.ok()) << store.status().message();
  ASSERT_EQ((*store)->devices().size(), 1U);
  EXPECT_EQ((*store)->devices()[0].name, "Stand-in GPU");
  EXPECT_EQ((*store)->streams().size(), 1U);
  std::map<std::string, int> kernels;
  ASSERT_TRUE((*store)
                  ->for_each_kernel([&](const Kernel& kernel) {
                    ++kernels[std::string((*store)->text(kernel.name))];
                  })
                  .ok());
  EXPECT_THAT(kernels, Contains(Pair("void gemm<float>(float*)", kSteps)));
  EXPECT_THAT(kernels, Contains(Pair("relu()", kSteps)));
  EXPECT_THAT(kernels, Contains(Pair("backward()", 5 * kSteps)));
  const auto losses = (*store)->losses();
  ASSERT_TRUE(losses.ok());
  EXPECT_TRUE(losses->empty());
}

TEST_F(DeviceRunTest, TheAnalysisSeesTheDevice) {
  const Outcome outcome = run_stepscope({"analyze", "--json", store_});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json analysis = json::parse(outcome.out);
  EXPECT_EQ(analysis["steps"]["count"], kSteps);
  ASSERT_EQ(analysis["loops"].size(), 1U);
  EXPECT_FALSE(analysis["loops"][0]["device"].is_null());
  EXPECT_GT(analysis["shares"]["compute"], 0.0);
  EXPECT_EQ(analysis["kernels"].size(), 3U);
  EXPECT_THAT(run_stepscope({"analyze", store_}).out, HasSubstr("Stand-in GPU"));
}

TEST_F(DeviceRunTest, TheTimelineHasAnArrowToEachThingTheDeviceDid) {
  const std::string trace = store_ + ".json";
  ASSERT_EQ(run_stepscope({"export", store_, "-o", trace}).exit_code, 0);
  std::map<std::string, int> slices, arrows;
  const json events = json::parse(testing::contents(trace))["traceEvents"];
  for (const json& event : events) {
    const std::string phase = event["ph"];
    if (phase == "X") ++slices[event.value("cat", "")];
    if (phase == "s" || phase == "f") ++arrows[phase];
  }
  EXPECT_EQ(slices["kernel"], kKernelsInAStep * kSteps);
  EXPECT_EQ(slices["gpu_memcpy"], kSteps);
  EXPECT_EQ(slices["cuda_runtime"], 5 * kSteps);
  EXPECT_EQ(arrows["s"], (kKernelsInAStep + 1) * kSteps);
  EXPECT_EQ(arrows["f"], arrows["s"]);
  std::filesystem::remove(trace);
}

TEST_F(DeviceRunTest, WithoutOpsNoDeviceIsRecorded) {
  const std::string store = store_ + ".phases";
  ASSERT_EQ(
      run_stepscope({"run", "--tier", "phases", "-o", store, "--", STEPSCOPE_CUDA_PROGRAM, "3"})
          .exit_code,
      0);
  const auto reader = TraceReader::open(store);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->devices().empty());
  std::filesystem::remove(store);
}

}  // namespace
}  // namespace stepscope
