#include "profiler/recorder/run_description.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "profiler/identity/source_state.h"
#include "profiler/recorder/loaded_versions.h"
#include "profiler/recorder/run_meta.h"

namespace stepscope {
namespace {

Status store_facts(TraceWriter& store,
                   const std::vector<std::pair<std::string, std::string>>& facts) {
  for (const auto& [key, value] : facts) {
    if (Status status = store.set_meta(key, value); !status.ok()) return status;
  }
  return {};
}

// The setting of the processes that have a loop, because one that only starts others leaves it at
// its default; of all processes if none has a loop. "": unknown.
std::string cudnn_benchmark(const std::list<WatchedProcess>& processes) {
  std::string said;
  bool by_loops = false;
  for (const WatchedProcess& process : processes) {
    const char* text = switch_text(process.cudnn_benchmark);
    const bool loops = process.step > 0;
    if (text == nullptr || (by_loops && !loops)) continue;
    const bool first = said.empty() || (loops && !by_loops);
    said = first || said == text ? text : "mixed";
    by_loops = loops;
  }
  return said;
}

// "0=GPU-…,1=GPU-…"
std::string gpu_list(const std::map<std::uint32_t, std::string>& uuids) {
  std::string text;
  for (const auto& [number, uuid] : uuids) {
    if (!text.empty()) text += ',';
    text += std::to_string(number) + '=' + uuid;
  }
  return text;
}

Status store_by_rank(TraceWriter& store, const char* key,
                     const std::map<std::int64_t, std::string>& facts, std::string& stored) {
  std::string text;
  for (const auto& [rank, fact] : facts) {
    if (!text.empty()) text += ' ';
    text += std::to_string(rank) + ':' + fact;
  }
  if (text == stored) return {};
  stored = text;
  return store.set_meta(key, text);
}

}  // namespace

RunDescription::RunDescription() : identities_(own_identity()) {}

Status RunDescription::add(TraceWriter& store, const Process& process,
                           const std::vector<std::filesystem::path>& source_folders) {
  source_.start(source_folders);
  // torchrun and the like give this identity to their workers, but not to the command that started
  // them.
  if (process.rank < 0) return {};
  return store_facts(store, identities_.add(process.rank, identity_of_process(process.pid)));
}

Status RunDescription::describe(TraceWriter& store, const WatchedProcess& process) {
  const std::string torch = described_ ? std::string() : process.torch_version();
  if (torch.empty()) return {};
  described_ = true;
  if (Status status = store.set_meta("torch_version", torch); !status.ok()) return status;
  const std::int64_t overhead_ns = process.region.header->leaf_op_overhead_ns;
  if (overhead_ns < 0) return {};
  return store.set_meta("leaf_op_overhead_ns", std::to_string(overhead_ns));
}

Status RunDescription::store_loaded_versions(TraceWriter& store, const WatchedProcess& process) {
  if (versions_stored_ || process.step == 0) return {};
  versions_stored_ = true;
  return store_facts(store, loaded_versions(process.pid));
}

Status RunDescription::store_torch_settings(TraceWriter& store,
                                            const std::list<WatchedProcess>& processes) {
  const std::string benchmark = cudnn_benchmark(processes);
  if (benchmark == stored_benchmark_) return {};
  stored_benchmark_ = benchmark;
  return store.set_meta("cudnn_benchmark", benchmark);
}

Status RunDescription::store_rank_facts(TraceWriter& store,
                                        const std::list<WatchedProcess>& processes) {
  // A launcher that restarts its workers gives them the ranks of the earlier ones.
  std::map<std::int64_t, std::string> groups, gpus;
  for (const WatchedProcess& process : processes) {
    const std::int64_t rank = std::max<std::int64_t>(process.rank, 0);
    if (!process.drain.groups().empty()) groups[rank] = process.drain.groups();
    if (!process.drain.gpu_uuids().empty()) gpus[rank] = gpu_list(process.drain.gpu_uuids());
  }
  if (Status status = store_by_rank(store, "groups", groups, stored_groups_); !status.ok())
    return status;
  return store_by_rank(store, "gpu_uuids", gpus, stored_gpus_);
}

Status RunDescription::store_source_state(TraceWriter& store) {
  const auto found = source_.take();
  return found ? store_facts(store, source_meta(*found)) : Status();
}

Status RunDescription::finish_source(TraceWriter& store) {
  source_.finish();
  return store_source_state(store);
}

}  // namespace stepscope
