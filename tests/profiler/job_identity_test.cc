// Which job and rank a process is, by what each launcher sets; and the names of stores made of
// that.
#include "profiler/identity/job_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "profiler/identity/job_variables.h"
#include "profiler/identity/output_name.h"
#include "profiler/identity/rank_identities.h"
#include "profiler/identity/run_environment.h"

namespace stepscope {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

JobIdentity identity_in(const std::vector<const char*>& environment,
                        const std::string& host = "node-a") {
  std::vector<const char*> list(environment);
  list.push_back(nullptr);
  return identify_job(job_variables(list.data()), host);
}

// --- launchers -----------------------------------------------------------------------------------

TEST(JobIdentityTest, Torchrun) {
  EXPECT_THAT(
      identity_meta(
          identity_in({"TORCHELASTIC_RUN_ID=job7", "GROUP_RANK=1", "RANK=9", "LOCAL_RANK=1",
                       "WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8", "TORCHELASTIC_RESTART_COUNT=2"})),
      ElementsAre(Pair("job_id", "job7"), Pair("node_rank", "1"), Pair("rank", "9"),
                  Pair("local_rank", "1"), Pair("world_size", "16"), Pair("restart_count", "2")));
}

TEST(JobIdentityTest, TorchrunWithoutARunId) {
  EXPECT_EQ(identity_in({"TORCHELASTIC_RUN_ID=none", "RANK=0"}).job_id, "");
}

TEST(JobIdentityTest, Srun) {
  const JobIdentity identity =
      identity_in({"SLURM_JOB_ID=77", "SLURM_JOB_NAME=nightly", "SLURM_NODEID=3", "SLURM_PROCID=25",
                   "SLURM_LOCALID=1", "SLURM_NTASKS=64", "SLURM_RESTART_COUNT=1"});
  EXPECT_THAT(identity_meta(identity),
              ElementsAre(Pair("job_id", "77"), Pair("job_name", "nightly"), Pair("node_rank", "3"),
                          Pair("rank", "25"), Pair("local_rank", "1"), Pair("world_size", "64"),
                          Pair("requeue_count", "1")));
  EXPECT_EQ(run_id(identity), "77.1");
}

TEST(JobIdentityTest, ASingleTaskIsNoRank) {
  EXPECT_EQ(identity_in({"SLURM_PROCID=0", "SLURM_NTASKS=1"}).rank, -1);
  EXPECT_EQ(identity_in({"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1"}).rank, -1);
}

TEST(JobIdentityTest, Mpirun) {
  EXPECT_THAT(
      identity_meta(identity_in({"PMIX_NAMESPACE=prterun-a-17@1", "OMPI_COMM_WORLD_RANK=3",
                                 "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_SIZE=4"})),
      ElementsAre(Pair("job_id", "prterun-a-17@1"), Pair("rank", "3"), Pair("local_rank", "1"),
                  Pair("world_size", "4")));
  EXPECT_THAT(identity_meta(identity_in({"PMI_RANK=2", "PMI_SIZE=4", "MPI_LOCALRANKID=0"})),
              ElementsAre(Pair("rank", "2"), Pair("local_rank", "0"), Pair("world_size", "4")));
}

TEST(JobIdentityTest, Ray) {
  EXPECT_THAT(identity_meta(identity_in({"RAY_JOB_ID=02000000", "NODE_RANK=2", "RANK=5",
                                         "LOCAL_RANK=1", "WORLD_SIZE=8"})),
              ElementsAre(Pair("job_id", "02000000"), Pair("node_rank", "2"), Pair("rank", "5"),
                          Pair("local_rank", "1"), Pair("world_size", "8")));
}

TEST(JobIdentityTest, AnIndexedKubernetesJob) {
  const JobIdentity identity = identity_in({"JOB_COMPLETION_INDEX=5"}, "train-5");
  EXPECT_EQ(identity.job_id, "train");
  EXPECT_EQ(identity.node_rank, 5);
  EXPECT_EQ(identity_in({"JOB_COMPLETION_INDEX=5"}, "train-15").job_id, "");
  EXPECT_EQ(identity_in({"JOB_COMPLETION_INDEX=5"}, "5").job_id, "");
  EXPECT_EQ(identity_in({"PET_NODE_RANK=4"}).node_rank, 4);
}

// Its jobs each count their pods from 0.
TEST(JobIdentityTest, AJobSet) {
  const JobIdentity identity =
      identity_in({"JOBSET_NAME=big", "JOB_COMPLETION_INDEX=0"}, "big-workers-1-0");
  EXPECT_EQ(identity.job_id, "big");
  EXPECT_EQ(identity.node_rank, -1);
}

TEST(JobIdentityTest, WithoutALauncherNothingIsKnown) {
  EXPECT_THAT(identity_meta(identity_in({"HOME=/root", "RANK=x", "WORLD_SIZE=-3", "noequals"})),
              IsEmpty());
  EXPECT_EQ(run_id(JobIdentity()), "");
}

TEST(JobIdentityTest, TheEnvironmentOfAnotherProcess) {
  const std::string text("RANK=3\0WORLD_SIZE=4\0HOME=/root\0\0LOCAL_RANK", 42);
  const JobIdentity identity = identify_job(job_variables(text), "a");
  EXPECT_EQ(identity.rank, 3);
  EXPECT_EQ(identity.world_size, 4);
  EXPECT_EQ(identify_job(job_variables(std::string_view()), "a").rank, -1);
}

TEST(JobIdentityTest, TheStoreKeepsTheVariablesItself) {
  for (const JobVariable& row : kJobVariables) EXPECT_TRUE(is_recorded_variable(row.name));
}

// --- what the processes say ----------------------------------------------------------------------

TEST(RankIdentitiesTest, ALauncherInsideTheCommandKnowsMore) {
  RankIdentities ranks(identity_in({}));
  const auto worker = [](int rank, int local) {
    JobIdentity identity;
    identity.job_id = "job7";
    identity.node_rank = 1;
    identity.rank = rank;
    identity.local_rank = local;
    return identity;
  };
  EXPECT_THAT(ranks.add(3, worker(3, 1)),
              AllOf(Contains(Pair("job_id", "job7")), Contains(Pair("node_rank", "1")),
                    Contains(Pair("local_ranks", "3:1")), Not(Contains(Pair("rank", "3")))));
  EXPECT_THAT(ranks.add(2, worker(2, 0)), Contains(Pair("local_ranks", "2:0 3:1")));
  EXPECT_THAT(ranks.add(-1, JobIdentity()), IsEmpty());
}

// srun starts one torchrun on each node, and numbers these.
TEST(RankIdentitiesTest, ANumberedLauncherIsNoRank) {
  RankIdentities ranks(identity_in({"SLURM_PROCID=1", "SLURM_NTASKS=2"}));
  EXPECT_THAT(ranks.add(9, identity_in({"RANK=9", "LOCAL_RANK=1"})),
              AllOf(Contains(Pair("rank", "")), Contains(Pair("local_rank", ""))));
  RankIdentities same(identity_in({"SLURM_PROCID=1", "SLURM_NTASKS=2"}));
  EXPECT_THAT(same.add(1, identity_in({})), IsEmpty());
}

// --- names of stores -----------------------------------------------------------------------------

TEST(OutputNameTest, PlaceholdersAreReplaced) {
  const OutputNames names{"77", "node-a", "9", "1", "77.2"};
  EXPECT_EQ(*expand_output("runs/{job}/{host}.db", names), "runs/77/node-a.db");
  EXPECT_EQ(*expand_output("{run}-{node}-{rank}.db", names), "77.2-1-9.db");
  EXPECT_EQ(*expand_output("plain.db", names), "plain.db");
  EXPECT_EQ(*expand_output("a{{b}}{job}", names), "a{b}77");
}

TEST(OutputNameTest, AValueStaysOnePartOfThePath) {
  const OutputNames names{"../../etc/x", "..", std::string(5000, 'h'), "a b", "\xff\n"};
  EXPECT_EQ(*expand_output("d/{job}/{host}", names), "d/_._.._etc_x/_.");
  EXPECT_EQ(expand_output("{rank}", names)->size(), 128U);
  EXPECT_EQ(*expand_output("{node}{run}", names), "a_b__");
}

TEST(OutputNameTest, AnUnknownOneIsRefused) {
  const OutputNames names{"77", "node-a", "9", "1", "77"};
  for (const char* text : {"{gpu}.db", "{}", "{job", "job}", "{job}}", "{{job}"}) {
    const auto refused = expand_output(text, names);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.status().kind(), ErrorKind::kUsage);
    EXPECT_THAT(refused.status().message(), HasSubstr("is not a placeholder; use {job}"));
  }
}

}  // namespace
}  // namespace stepscope
