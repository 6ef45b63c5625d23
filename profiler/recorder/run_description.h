// Describes a run by what is known of its processes, in rows of the store's `meta`: versions,
// libtorch settings, the job's identity, the state of the source. Each row is stored once, or
// whenever it changes.
//
// Thread safety: none, like the store.
#pragma once

#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include "profiler/identity/rank_identities.h"
#include "profiler/recorder/source_watch.h"
#include "profiler/recorder/watched_process.h"
#include "store/events.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

class RunDescription {
 public:
  RunDescription();

  // Adds a process. The first one starts the check of the source in `source_folders`.
  Status add(TraceWriter& store, const Process& process,
             const std::vector<std::filesystem::path>& source_folders);
  // Stores what the process found out about its libtorch. The first process that has one describes
  // the run.
  Status describe(TraceWriter& store, const WatchedProcess& process);
  // Stored once, from the first process that has a step: by then it has imported what it needs.
  Status store_loaded_versions(TraceWriter& store, const WatchedProcess& process);
  Status store_torch_settings(TraceWriter& store, const std::list<WatchedProcess>& processes);
  // What is known of each rank: its process groups and its GPUs.
  Status store_rank_facts(TraceWriter& store, const std::list<WatchedProcess>& processes);
  // Stored once, when it is known.
  Status store_source_state(TraceWriter& store);
  // Waits a moment for the state of the source and stores it, if it came.
  Status finish_source(TraceWriter& store);

 private:
  bool described_ = false;
  bool versions_stored_ = false;
  std::string stored_benchmark_;
  std::string stored_groups_, stored_gpus_;
  RankIdentities identities_;
  SourceWatch source_;
};

}  // namespace stepscope
