// What a run and its job are called, with and without a scheduler.
#include "wrap/run_names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "profiler/identity/job_variables.h"
#include "wrap/output_path.h"

namespace stepscope {
namespace {

const std::vector<std::string> kProgram = {"python", "train.py", "--lr", "0.1"};

class RunNamesTest : public ::testing::Test {
 protected:
  // Whoever runs the tests may do so in a job of a scheduler.
  void SetUp() override {
    for (const JobVariable& variable : kJobVariables) ::unsetenv(variable.name);
  }
  void TearDown() override { SetUp(); }

  static void become_job() {
    ::setenv("SLURM_JOB_ID", "77", 1);
    ::setenv("SLURM_JOB_NAME", "resnet", 1);
    ::setenv("SLURM_NODEID", "3", 1);
  }
};

TEST_F(RunNamesTest, WithoutALauncherTheProgramGivesItsName) {
  const RunNames names = name_run("", kProgram);
  EXPECT_EQ(names.program, "train.py");
  EXPECT_EQ(names.job, "train.py");
  EXPECT_EQ(names.job_id, "train.py");
  EXPECT_EQ(names.run, "");
  EXPECT_EQ(names.rank, "0");
  EXPECT_EQ(names.node, names.host);
}

TEST_F(RunNamesTest, TheSchedulerGivesTheJobANameAndAnId) {
  become_job();
  const RunNames names = name_run("", kProgram);
  EXPECT_EQ(names.job, "resnet");
  EXPECT_EQ(names.job_id, "77");
  EXPECT_EQ(names.run, "77");
  EXPECT_EQ(names.node, "3");
}

TEST_F(RunNamesTest, TheUsersNameCountsFirst) {
  become_job();
  const RunNames names = name_run("nightly", kProgram);
  EXPECT_EQ(names.job, "nightly");
  EXPECT_EQ(names.job_id, "nightly");
  EXPECT_EQ(names.run, "77");
}

TEST_F(RunNamesTest, APathIsOfTheJobsId) {
  become_job();
  EXPECT_EQ(*output_of("{job}-{run}-{node}.db", "", kProgram), "77-77-3.db");
  EXPECT_EQ(*output_of("{job}.db", "nightly", kProgram), "nightly.db");
  EXPECT_EQ(*output_of("plain.db", "nightly", kProgram), "plain.db");
}

TEST_F(RunNamesTest, ARunWithoutAnIdIsOfItsStart) {
  const std::string path = *output_of("{run}.db", "", kProgram);
  EXPECT_TRUE(path.starts_with("train.py-2")) << path;
}

}  // namespace
}  // namespace stepscope
