// The labels that tell one run from others: as `stepscope lake add` names runs.
#include "metrics/run_identity.h"

#include <gtest/gtest.h>

#include <map>

namespace stepscope {
namespace {

RunIdentity identify(const std::map<std::string, std::string>& variables,
                     const std::string& host = "node") {
  const auto variable = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  return identify_run(variable, "train.py", 1'764'029'883, host);
}

TEST(RunIdentityTest, IsTheJobsIfASchedulerNamesOne) {
  for (const char* name : {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "RAY_JOB_ID"}) {
    const RunIdentity identity = identify({{name, "4711"}});
    EXPECT_EQ(identity.job, "4711") << name;
    EXPECT_EQ(identity.run, "4711") << name;
  }
}

TEST(RunIdentityTest, IsTheProgramsAndItsStartsElse) {
  const RunIdentity identity = identify({{"TORCHELASTIC_RUN_ID", "none"}});
  EXPECT_EQ(identity.job, "");
  EXPECT_EQ(identity.run, "train.py@2025-11-25T00:18:03Z");
  EXPECT_EQ(identity.host, "node");
}

TEST(RunIdentityTest, OfAnIndexedKubernetesJobIsInTheHost) {
  EXPECT_EQ(identify({{"JOB_COMPLETION_INDEX", "3"}}, "big-job-3").job, "big-job");
  EXPECT_EQ(identify({{"JOB_COMPLETION_INDEX", "3"}}, "elsewhere").job, "");
}

}  // namespace
}  // namespace stepscope
