// The samples of GPUs, on a library that stands in for NVML (fake_nvml.cc).
#include "profiler/recorder/gpu_sampler.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <thread>
#include <vector>

namespace stepscope {
namespace {

using std::chrono::milliseconds;

constexpr char kFake[] = STEPSCOPE_FAKE_NVML;

class GpuSamplerTest : public ::testing::Test {
 protected:
  ~GpuSamplerTest() override { unsetenv("FAKE_NVML"); }
};

// At least `count` samples; the test's time limit ends a wait for ever.
std::vector<GpuSample> samples_of(GpuSampler& sampler, std::size_t count) {
  std::vector<GpuSample> all;
  while (all.size() < count) {
    for (const GpuSample& sample : sampler.take()) all.push_back(sample);
    std::this_thread::sleep_for(milliseconds(1));
  }
  return all;
}

TEST_F(GpuSamplerTest, EachGpuTellsWhatItKnows) {
  const auto nvml = Nvml::open(kFake);
  ASSERT_NE(nvml, nullptr);
  ASSERT_EQ(nvml->gpu_count(), 2U);
  const GpuReading first = nvml->read(0);
  EXPECT_EQ(first.utilization_percent, 97);
  EXPECT_EQ(first.memory_utilization_percent, 41);
  EXPECT_EQ(first.memory_used_bytes, 60'000'000'000);
  EXPECT_EQ(first.power_milliwatts, 412'345);
  EXPECT_EQ(first.sm_clock_mhz, 1'755);
  EXPECT_EQ(first.memory_clock_mhz, 2'619);
  EXPECT_EQ(first.temperature_celsius, 64);
  const GpuReading second = nvml->read(1);
  EXPECT_EQ(second.utilization_percent, std::nullopt);
  EXPECT_EQ(second.memory_utilization_percent, std::nullopt);
  EXPECT_EQ(second.memory_used_bytes, 5'000'000);
  EXPECT_EQ(second.power_milliwatts, std::nullopt);
  EXPECT_EQ(second.sm_clock_mhz, std::nullopt);
  EXPECT_EQ(second.temperature_celsius, 64);
  EXPECT_EQ(nvml->read(2).temperature_celsius, std::nullopt);  // there is none
}

TEST_F(GpuSamplerTest, WithoutALibraryADriverOrItsFunctionsThereIsNothing) {
  EXPECT_EQ(Nvml::open("libno-such-nvml.so.1"), nullptr);
  EXPECT_EQ(Nvml::open("libc.so.6"), nullptr);  // a library, but another
  setenv("FAKE_NVML", "broken", 1);
  EXPECT_EQ(Nvml::open(kFake), nullptr);
}

TEST_F(GpuSamplerTest, AGpuThatFellOffTheBusTellsNothing) {
  const auto nvml = Nvml::open(kFake);
  ASSERT_NE(nvml, nullptr);
  setenv("FAKE_NVML", "lost", 1);
  EXPECT_EQ(nvml->read(0).memory_used_bytes, std::nullopt);
  EXPECT_EQ(nvml->read(0).power_milliwatts, std::nullopt);
}

TEST_F(GpuSamplerTest, SamplesComeInOrderOfTime) {
  GpuSampler sampler(kFake, milliseconds(1));
  const std::vector<GpuSample> samples = samples_of(sampler, 10);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].gpu, i % 2);
    EXPECT_EQ(samples[i].reading.temperature_celsius, 64);
    if (i > 0) {
      EXPECT_GE(to_count(samples[i].at), to_count(samples[i - 1].at));
    }
  }
}

TEST_F(GpuSamplerTest, WithoutGpusThereAreNoSamples) {
  GpuSampler sampler("libno-such-nvml.so.1", milliseconds(1));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(sampler.take().empty());
}

// The driver would take 30 s: neither taking nor ending waits for it.
TEST_F(GpuSamplerTest, ADriverThatDoesNotAnswerIsLeftAlone) {
  setenv("FAKE_NVML", "slow", 1);
  void* const library = dlopen(kFake, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto ready = reinterpret_cast<int (*)()>(dlsym(library, "fake_nvml_is_ready"));
  {
    GpuSampler sampler(kFake, milliseconds(1));
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_TRUE(sampler.take().empty());
  }
  EXPECT_EQ(ready(), 0);
}

}  // namespace
}  // namespace stepscope
