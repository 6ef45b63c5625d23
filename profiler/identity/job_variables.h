// The variables by which launchers and schedulers describe a process of a job, in one table.
#pragma once

#include <cstdint>

namespace stepscope {

enum class JobFact : std::uint8_t {
  kJobId,      // the same on every node of a run
  kJobName,    // the same in every run of a job
  kNodeRank,   // of the machine within the run
  kRank,       // of the process within the run
  kLocalRank,  // of the process within the machine
  kWorldSize,  // processes of the run
  kRestart,    // how often the launcher restarted the processes
  kRequeue,    // how often the scheduler requeued the whole job
};

struct JobVariable {
  JobFact fact;
  const char* name;
  const char* set_by;
  // The variable counts only if this one is above 1: launchers number a single task too, but that
  // is no rank. nullptr: no such condition.
  const char* tasks = nullptr;
  // The variable counts only if this one is not set. nullptr: no such condition.
  const char* unless = nullptr;
};

// For each fact, the first variable that is set counts. Those set closest to the process come
// first.
inline constexpr JobVariable kJobVariables[] = {
    {JobFact::kJobId, "SLURM_JOB_ID", "srun"},
    {JobFact::kJobId, "TORCHELASTIC_RUN_ID", "torchrun"},
    {JobFact::kJobId, "RAY_JOB_ID", "Ray"},
    {JobFact::kJobId, "JOBSET_NAME", "Kubernetes"},
    {JobFact::kJobId, "PMIX_NAMESPACE", "mpirun"},
    {JobFact::kJobName, "SLURM_JOB_NAME", "srun"},
    {JobFact::kNodeRank, "GROUP_RANK", "torchrun"},
    {JobFact::kNodeRank, "NODE_RANK", "Ray"},
    {JobFact::kNodeRank, "PET_NODE_RANK", "Kubernetes"},
    {JobFact::kNodeRank, "SLURM_NODEID", "srun"},
    // In a JobSet, each job counts its pods from 0, so the index is no node rank.
    {JobFact::kNodeRank, "JOB_COMPLETION_INDEX", "Kubernetes", nullptr, "JOBSET_NAME"},
    {JobFact::kRank, "RANK", "torchrun"},
    {JobFact::kRank, "SLURM_PROCID", "srun", "SLURM_NTASKS"},
    {JobFact::kRank, "OMPI_COMM_WORLD_RANK", "mpirun", "OMPI_COMM_WORLD_SIZE"},
    {JobFact::kRank, "PMI_RANK", "mpirun", "PMI_SIZE"},
    {JobFact::kLocalRank, "LOCAL_RANK", "torchrun"},
    {JobFact::kLocalRank, "SLURM_LOCALID", "srun", "SLURM_NTASKS"},
    {JobFact::kLocalRank, "OMPI_COMM_WORLD_LOCAL_RANK", "mpirun", "OMPI_COMM_WORLD_SIZE"},
    {JobFact::kLocalRank, "MPI_LOCALRANKID", "mpirun", "PMI_SIZE"},
    {JobFact::kWorldSize, "WORLD_SIZE", "torchrun"},
    {JobFact::kWorldSize, "SLURM_NTASKS", "srun"},
    {JobFact::kWorldSize, "OMPI_COMM_WORLD_SIZE", "mpirun"},
    {JobFact::kWorldSize, "PMI_SIZE", "mpirun"},
    {JobFact::kRestart, "TORCHELASTIC_RESTART_COUNT", "torchrun"},
    {JobFact::kRequeue, "SLURM_RESTART_COUNT", "srun"},
};

}  // namespace stepscope
