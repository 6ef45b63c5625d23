#include "profiler/identity/rank_identities.h"

namespace stepscope {

std::vector<std::pair<std::string, std::string>> RankIdentities::add(std::int64_t rank,
                                                                     const JobIdentity& process) {
  if (rank < 0) return {};
  JobIdentity shared = process;
  shared.rank = shared.local_rank = -1;
  shared.job_name.clear();  // the command has the same name, or one that the user gave it
  auto meta = identity_meta(shared);
  // srun gives the torchrun on each node a number, which is not a rank.
  if (command_.rank >= 0 && command_.rank != rank) {
    command_.rank = -1;
    meta.emplace_back("rank", "");
    meta.emplace_back("local_rank", "");
  }
  if (process.local_rank >= 0) {
    local_ranks_[rank] = process.local_rank;
    std::string text;
    for (const auto& [each, local] : local_ranks_) {
      if (!text.empty()) text += ' ';
      text += std::to_string(each) + ":" + std::to_string(local);
    }
    meta.emplace_back("local_ranks", text);
  }
  return meta;
}

}  // namespace stepscope
