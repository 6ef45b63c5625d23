// What TraceReader::for_each_op promises beyond the values of the ops.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using testing::SyntheticRun;
using testing::TempDir;

std::int64_t count_ops(const TraceReader& reader) {
  std::int64_t count = 0;
  const Status status = reader.for_each_op([&count](const Op&) { return ++count > 0; });
  EXPECT_TRUE(status.ok()) << status.message();
  return count;
}

TEST(OpScan, EndsWhenTheVisitorSaysSo) {
  const TempDir dir;
  testing::make_store(dir / "run.db", SyntheticRun{});
  const auto reader = testing::open_store(dir / "run.db");
  int visited = 0;
  const Status status = reader->for_each_op([&visited](const Op&) { return ++visited < 3; });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(visited, 3);
  EXPECT_EQ(count_ops(*reader), *reader->op_count());  // and the next scan starts anew
}

TEST(OpScan, AVisitorMayReadTheStoreAndScanInTurn) {
  const TempDir dir;
  SyntheticRun run;
  run.steps = 2;
  run.shapes = true;
  testing::make_store(dir / "run.db", run);
  const auto reader = testing::open_store(dir / "run.db");
  const std::int64_t ops = *reader->op_count();
  std::vector<StringId> names;
  const Status status = reader->for_each_op([&](const Op& op) {
    EXPECT_EQ(count_ops(*reader), ops);
    EXPECT_TRUE(reader->phases().ok());
    names.push_back(op.name);
    return true;
  });
  EXPECT_TRUE(status.ok());
  std::vector<StringId> undisturbed;
  EXPECT_TRUE(reader
                  ->for_each_op([&](const Op& op) {
                    undisturbed.push_back(op.name);
                    return true;
                  })
                  .ok());
  EXPECT_EQ(names, undisturbed);
  EXPECT_EQ(static_cast<std::int64_t>(names.size()), ops);
}

}  // namespace
}  // namespace stepscope
