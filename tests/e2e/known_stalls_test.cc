// The promise: the reported input share is within one point of what the loop itself measured, on
// the same steps, for waits that sleep and waits that work.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "store/trace_reader.h"

namespace stepscope {
namespace {

// What `command` prints; fails the test when it exits non-zero.
std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), read);
  }
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << text;
  return text;
}

struct Stall {
  const char* kind;
  double share;
};

void PrintTo(const Stall& stall, std::ostream* out) { *out << stall.kind << " " << stall.share; }

class KnownStallsTest : public testing::TestWithParam<Stall> {
 protected:
  KnownStallsTest() : store_(testing::TempDir() + "/stalls-" + std::to_string(getpid()) + ".db") {}
  ~KnownStallsTest() override {
    std::filesystem::remove(store_);
    std::filesystem::remove(store_ + ".old");
  }
  std::string store_;
};

TEST_P(KnownStallsTest, ReportedShareIsTheLoopsOwn) {
  const Stall stall = GetParam();
  const auto loop = nlohmann::json::parse(
      output_of(std::string(STEPSCOPE_STALL_LOOP) + " --kind " + stall.kind + " --share " +
                std::to_string(stall.share) + " --output " + store_));
  const auto report =
      nlohmann::json::parse(output_of(std::string(STEPSCOPE_CLI) + " analyze --json " + store_));

  // The loop's own share over the steps that the verdict rests on.
  const auto reader = TraceReader::open(store_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto analysis = (*reader)->analysis();
  ASSERT_TRUE(analysis.ok());
  double wait_ns = 0;
  double step_ns = 0;
  double wait_cpu_ns = 0;
  std::int64_t steady = 0;
  for (const Step& step : analysis->steps) {
    if (!step.steady || step.number > static_cast<std::int64_t>(loop["steps"].size())) continue;
    const auto& own = loop["steps"][static_cast<std::size_t>(step.number - 1)];
    wait_ns += own[0].get<double>();
    step_ns += own[1].get<double>();
    wait_cpu_ns += own[2].get<double>();
    ++steady;
  }
  ASSERT_GT(steady, 60) << "most steps are steady";
  const double own_share = wait_ns / step_ns;
  const double reported = report["shares"]["input"].get<double>();
  EXPECT_NEAR(reported, own_share, 0.01);

  const std::string kind = report["verdict"]["kind"].get<std::string>();
  if (own_share >= 0.2) {
    EXPECT_EQ(kind, "input-bound");
    EXPECT_EQ(report["verdict"]["degree"], "highly");
  } else if (own_share < 0.045) {
    EXPECT_NE(kind, "input-bound");
  }
  // Busy or blocked, as the loop's own CPU clock says: on a loaded machine a spinning thread is not
  // always on a processor. A wait of nothing is too short to compare.
  if (own_share > 0.02) {
    EXPECT_NEAR(report["input"]["busy_share"].get<double>(), wait_cpu_ns / wait_ns, 0.05);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Stalls, KnownStallsTest,
    testing::Values(Stall{"sleep", 0}, Stall{"sleep", 0.03}, Stall{"sleep", 0.1},
                    Stall{"sleep", 0.3}, Stall{"sleep", 0.6}, Stall{"busy", 0.03},
                    Stall{"busy", 0.1}, Stall{"busy", 0.3}, Stall{"busy", 0.6}),
    [](const auto& tested) {
      return std::string(tested.param.kind) + std::to_string(std::lround(tested.param.share * 100));
    });

}  // namespace
}  // namespace stepscope
