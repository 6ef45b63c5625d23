// The labels that tell one run from others.
#include "metrics/run_identity.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(RunIdentityTest, ARunWithoutAnIdIsCalledByItsStart) {
  EXPECT_EQ(run_by_its_start("train.py", 1'764'029'883), "train.py@2025-11-25T00:18:03Z");
}

TEST(RunIdentityTest, EachPartIsALabel) {
  const RunIdentity identity{"nightly", "4711.2", "node7"};
  EXPECT_EQ(identity.labels(), (Labels{{"job", "nightly"}, {"run", "4711.2"}, {"host", "node7"}}));
}

}  // namespace
}  // namespace stepscope
