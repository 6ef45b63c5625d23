// `stepscope run` around a real libtorch program that knows nothing of it (its own recording, which
// it asks for, is left to the wrapper): ops, phases, steps and its end are in the wrapper's store.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "store/counters.h"
#include "store/trace_reader.h"

namespace stepscope {
namespace {

TEST(WrappedTest, ALibtorchProgramIsRecordedFromOutside) {
  const std::string store = testing::TempDir() + "/wrapped-" + std::to_string(getpid()) + ".db";
  const std::string own = store + ".own";
  const std::string command = std::string(STEPSCOPE_CLI) + " run --quiet -o " + store +
                              " --steps 10-19 -- " + STEPSCOPE_STALL_LOOP +
                              " --steps 40 --output " + own + " > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  EXPECT_FALSE(std::filesystem::exists(own)) << "the wrapper records";

  const auto reader = TraceReader::open(store);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto phases = (*reader)->phases();
  ASSERT_TRUE(phases.ok());
  const auto count = [&](PhaseKind kind) {
    return std::count_if(phases->begin(), phases->end(),
                         [kind](const Phase& phase) { return phase.kind == kind; });
  };
  EXPECT_EQ(count(PhaseKind::kInput), 40);
  // 20 more steps without a loader warm the loop up, before its first wait.
  EXPECT_EQ(count(PhaseKind::kBackward), 60);
  EXPECT_EQ(count(PhaseKind::kOptimizer), 60);
  EXPECT_GT(*(*reader)->op_count(), 10 * 20);
  EXPECT_NE((*reader)->meta("torch_version").value_or(""), "");
  std::int64_t allocations = 0;
  ASSERT_TRUE((*reader)
                  ->for_each_sample([&](const Sample& sample) {
                    const std::string_view counter = (*reader)->text(sample.counter);
                    if (counter == counter::kTensorAllocations) allocations = sample.value;
                    return true;
                  })
                  .ok());
  EXPECT_GT(allocations, 40) << "a batch each, and what is computed of it";
  const auto ends = (*reader)->process_ends();
  ASSERT_TRUE(ends.ok());
  ASSERT_EQ(ends->size(), 1U);
  EXPECT_EQ((*ends)[0].how, EndKind::kExit);
  EXPECT_EQ((*ends)[0].code, 0);
  std::filesystem::remove(store);
}

}  // namespace
}  // namespace stepscope
