#include "profiler/recorder/cpu_group.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "profiler/recorder/group_levels.h"

namespace stepscope {
namespace {

// A version 1 hierarchy may be mounted under any of these names.
constexpr std::array kV1Mounts = {"cpu", "cpu,cpuacct", "cpuacct,cpu"};

bool names_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

// Quota divided by period, in thousandths of a core; nothing: unlimited.
std::optional<std::int64_t> millicores(std::int64_t quota, std::int64_t period) {
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  if (quota <= 0 || period <= 0 || quota > kMax) return std::nullopt;
  return std::max<std::int64_t>(quota * 1000 / period, 1);
}

std::optional<std::int64_t> quota_of(const std::string& folder, bool v2) {
  if (!v2) {
    std::int64_t quota = -1, period = 0;
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
    return millicores(quota, period);
  }
  std::ifstream file(folder + "/cpu.max");
  std::int64_t quota = -1, period = 0;
  if (!(file >> quota)) return std::nullopt;  // "max"
  file >> period;
  return millicores(quota, period);
}

std::int64_t throttled_ns_of(const std::string& folder, bool v2) {
  std::ifstream file(folder + "/cpu.stat");
  std::string key;
  for (std::int64_t value = 0; file >> key >> value;) {
    if (v2 && key == "throttled_usec")
      return std::clamp<std::int64_t>(value, 0, INT64_MAX / 4096) * 1000;
    if (!v2 && key == "throttled_time") return std::max<std::int64_t>(value, 0);
  }
  return 0;
}

}  // namespace

CpuGroup::CpuGroup(pid_t pid, const SystemFolders& system) {
  std::ifstream groups(system.proc + "/" + std::to_string(pid) + "/cgroup");
  const auto add = [&](const std::string& root, const std::string& group, bool v2) {
    const char* const file = v2 ? "/cpu.max" : "/cpu.cfs_quota_us";
    visit_group_levels(root + group, root, [&](const std::string& folder) {
      if (::access((folder + file).c_str(), F_OK) == 0) levels_.push_back({folder, v2});
    });
  };
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    while (!group.empty() && group.back() == '/') group.pop_back();
    if (!group.empty() && group.front() != '/') continue;
    if (controllers.empty()) {
      add(system.cgroup, group, true);
    } else if (names_cpu(controllers)) {
      for (const char* const mount : kV1Mounts) {
        const std::string root = system.cgroup + "/" + mount;
        if (::access((root + "/.").c_str(), F_OK) != 0) continue;
        add(root, group, false);
        break;
      }
    }
  }
}

std::optional<CpuQuota> CpuGroup::read() const {
  std::optional<CpuQuota> tightest;
  for (const Level& level : levels_) {
    const auto quota = quota_of(level.folder, level.v2);
    if (!quota) continue;
    if (!tightest) tightest = CpuQuota{*quota, 0};
    tightest->millicores = std::min(tightest->millicores, *quota);
    tightest->throttled_ns += throttled_ns_of(level.folder, level.v2);
  }
  return tightest;
}

}  // namespace stepscope
