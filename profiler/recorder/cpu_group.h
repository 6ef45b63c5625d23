// The CPU quota of a process, as set by its control group (cgroup) and the groups around that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepscope {

// The folders of the system's files; tests use others. Strings: where memory runs out while
// libstdc++ 12 appends to a std::filesystem::path, it frees a part of it twice.
struct SystemFolders {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
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
    std::string folder;
    bool v2 = false;
  };
  std::vector<Level> levels_;
};

}  // namespace stepscope
