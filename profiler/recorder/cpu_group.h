// The CPU quota of a process, as set by its control group (cgroup) and the groups around that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace stepscope {

// The folders of the system's files; tests use others.
struct SystemFolders {
  std::filesystem::path proc = "/proc";
  std::filesystem::path cgroup = "/sys/fs/cgroup";
};

struct CpuQuota {
  std::int64_t millicores = 0;    // of the tightest quota
  std::int64_t throttled_ns = 0;  // time that quotas held a group back, since the groups began
};

// Thread safety: none.
class CpuGroup {
 public:
  // Finds the groups of `pid` that have quotas, in version 2 (cpu.max) or 1 (cpu.cfs_quota_us).
  explicit CpuGroup(pid_t pid, const SystemFolders& system = {});
  // Nothing if no group has a quota now.
  [[nodiscard]] std::optional<CpuQuota> read() const;

 private:
  struct Level {
    std::filesystem::path folder;
    bool v2 = false;
  };
  std::vector<Level> levels_;
};

}  // namespace stepscope
