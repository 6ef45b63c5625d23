#include "profiler/recorder/proc_samples.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>

#include "profiler/process/proc_text.h"
#include "profiler/recorder/group_levels.h"
#include "store/counters.h"

namespace stepscope {
namespace {

OwnedFd open_file(const std::string& path) {
  return OwnedFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// The whole of a small /proc file; "" if it cannot be read.
std::string_view read_text(const OwnedFd& fd, std::array<char, 8192>& buffer) {
  if (!fd) return {};
  const ssize_t length = pread(fd.get(), buffer.data(), buffer.size(), 0);
  return length <= 0 ? std::string_view{}
                     : std::string_view(buffer.data(), static_cast<std::size_t>(length));
}

std::optional<std::int64_t> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return number_in(text.substr(at + key.size()));
}

// /proc/PID/stat.
void read_stat(std::string_view text, std::vector<Reading>& readings) {
  const auto field = stat_fields(text);
  // A process that is about to disappear has no values left.
  if (field.size() < 22 || number_in(field[20]) == 0) return;
  static const std::int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  static const std::int64_t page = sysconf(_SC_PAGESIZE);
  readings.emplace_back("minor_faults", number_in(field[7]));
  readings.emplace_back("major_faults", number_in(field[9]));
  readings.emplace_back("cpu_user_ns", number_in(field[11]) * tick_ns);
  readings.emplace_back("cpu_system_ns", number_in(field[12]) * tick_ns);
  readings.emplace_back("threads", number_in(field[17]));
  readings.emplace_back(counter::kRss, number_in(field[21]) * page);
  if (field[0] == "T") readings.emplace_back(counter::kStopped, 1);
}

void add_number_after(std::string_view text, std::string_view key, const char* name,
                      std::vector<Reading>& readings) {
  if (const auto value = number_after(text, key)) readings.emplace_back(name, *value);
}

// The totals of "some avg10=… total=N" and "full …", in us.
void read_pressure(std::string_view text, const char* some, const char* full,
                   std::vector<Reading>& readings) {
  add_number_after(text, "total=", some, readings);
  const std::size_t second = text.find("full");
  if (full != nullptr && second != std::string_view::npos) {
    add_number_after(text.substr(second), "total=", full, readings);
  }
}

// Reads /proc/PID/limits and /proc/PID/stat, whose field 20 (counted as in stat_fields()) is the
// address space. Adds nothing without a limit.
void read_address_space(std::string_view limits, std::string_view stat,
                        std::vector<Reading>& readings) {
  constexpr std::string_view kKey = "Max address space";
  const std::size_t line = limits.find(kKey);
  if (line == std::string_view::npos) return;
  const auto limit = words_in(limits.substr(line + kKey.size()));
  const auto field = stat_fields(stat);
  if (limit.empty() || limit[0] == "unlimited" || field.size() < 21) return;
  readings.emplace_back(counter::kAddressSpace, number_in(field[20]));
  readings.emplace_back(counter::kAddressLimit, number_in(limit[0]));
}

// /proc/net/dev, summed over all interfaces except loopback. The 1st and the 9th figure are bytes.
void read_network(std::string_view text, std::vector<Reading>& readings) {
  std::int64_t received = 0;
  std::int64_t sent = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.substr(0, colon).ends_with("lo")) continue;
    const auto figures = words_in(line.substr(colon + 1));
    if (figures.size() < 9) continue;
    received += number_in(figures[0]);
    sent += number_in(figures[8]);
  }
  readings.emplace_back("net_rx_bytes", received);
  readings.emplace_back("net_tx_bytes", sent);
}

// The first line of /proc/stat; see proc(5). Idle (3) and iowait (4) do not count as busy.
void read_cpu(std::string_view text, std::vector<Reading>& readings) {
  if (!text.starts_with("cpu ")) return;
  const auto field = words_in(text.substr(4, text.find('\n') - 4));
  if (field.size() < 8) return;
  static const std::int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  constexpr std::array<std::size_t, 5> kBusy = {0, 1, 2, 5, 6};
  std::int64_t busy = 0;
  for (const std::size_t i : kBusy) busy += number_in(field[i]);
  readings.emplace_back(counter::kCpuBusy, busy * tick_ns);
  readings.emplace_back(counter::kCpuStolen, number_in(field[7]) * tick_ns);
}

// The path of a file in the memory cgroup of `pid`, given its names in version 2 and version 1; ""
// if there is none.
std::string memory_group_file(pid_t pid, const std::string& in_v2, const std::string& in_v1) {
  std::ifstream groups("/proc/" + std::to_string(pid) + "/cgroup");
  std::string v2;
  for (std::string line; std::getline(groups, line);) {
    const std::size_t path = line.rfind(':');
    if (path == std::string::npos) continue;
    if (line.find(":memory:") != std::string::npos) {
      return "/sys/fs/cgroup/memory" + line.substr(path + 1) + "/" + in_v1;
    }
    if (line.starts_with("0::")) v2 = "/sys/fs/cgroup" + line.substr(path + 1) + "/" + in_v2;
  }
  return v2;
}

}  // namespace

// Without a limit, version 2 has "max", version 1 almost 2^63.
std::optional<std::int64_t> memory_group_limit(pid_t pid) {
  constexpr std::int64_t kNone = std::int64_t{1} << 60;
  constexpr std::string_view kRoot = "/sys/fs/cgroup";
  const std::string path = memory_group_file(pid, "memory.max", "memory.limit_in_bytes");
  if (path.empty()) return std::nullopt;
  const std::size_t slash = path.rfind('/');
  const std::string file = path.substr(slash);
  std::int64_t least = kNone;
  visit_group_levels(path.substr(0, slash), kRoot, [&](const std::string& folder) {
    std::int64_t limit = 0;
    std::ifstream(folder + file) >> limit;
    if (limit > 0) least = std::min(least, limit);
  });
  return least < kNone ? std::optional(least) : std::nullopt;
}

ProcessSampler::ProcessSampler(pid_t pid)
    : pid_(pid),
      folder_("/proc/" + std::to_string(pid)),
      stat_(open_file(folder_ + "/stat")),
      io_(open_file(folder_ + "/io")),
      status_(open_file(folder_ + "/status")),
      group_limit_(memory_group_limit(pid)),
      cpu_group_(pid) {}

void ProcessSampler::add_limits(std::string_view stat, std::vector<Reading>& readings) const {
  std::array<char, 8192> buffer;
  const std::string_view score = read_text(open_file(folder_ + "/oom_score"), buffer);
  if (!score.empty()) readings.emplace_back(counter::kOomScore, number_in(score));
  if (group_limit_) readings.emplace_back(counter::kMemoryLimit, *group_limit_);
  read_address_space(read_text(open_file(folder_ + "/limits"), buffer), stat, readings);
}

// The machine's cores that the process may use.
void ProcessSampler::add_cores(std::vector<Reading>& readings) const {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(pid_, sizeof(set), &set) == 0)
    readings.emplace_back(counter::kCores, CPU_COUNT(&set));
  if (const auto quota = cpu_group_.read()) {
    readings.emplace_back(counter::kCpuQuota, quota->millicores);
    readings.emplace_back(counter::kCpuThrottled, quota->throttled_ns);
  }
}

std::vector<Reading> ProcessSampler::read() const {
  std::array<char, 8192> buffer;
  std::vector<Reading> readings;
  const std::string_view stat = read_text(stat_, buffer);
  read_stat(stat, readings);
  if (readings.empty()) return readings;
  add_limits(stat, readings);
  add_cores(readings);
  const std::string_view io = read_text(io_, buffer);
  add_number_after(io, "\nread_bytes:", "read_bytes", readings);
  add_number_after(io, "\nwrite_bytes:", "write_bytes", readings);
  const std::string_view status = read_text(status_, buffer);
  add_number_after(status, "\nvoluntary_ctxt_switches:", "voluntary_switches", readings);
  add_number_after(status, "nonvoluntary_ctxt_switches:", "involuntary_switches", readings);
  return readings;
}

MachineSampler::MachineSampler()
    : psi_cpu_(open_file("/proc/pressure/cpu")),
      psi_memory_(open_file("/proc/pressure/memory")),
      psi_io_(open_file("/proc/pressure/io")),
      net_(open_file("/proc/net/dev")),
      meminfo_(open_file("/proc/meminfo")),
      stat_(open_file("/proc/stat")) {}

std::vector<Reading> MachineSampler::read() const {
  std::array<char, 8192> buffer;
  std::vector<Reading> readings;
  read_pressure(read_text(psi_cpu_, buffer), "psi_cpu_some_us", nullptr, readings);
  read_pressure(read_text(psi_memory_, buffer), "psi_memory_some_us", "psi_memory_full_us",
                readings);
  read_pressure(read_text(psi_io_, buffer), "psi_io_some_us", "psi_io_full_us", readings);
  read_network(read_text(net_, buffer), readings);
  read_cpu(read_text(stat_, buffer), readings);
  const auto kib = number_after(read_text(meminfo_, buffer), "MemAvailable:");
  if (kib) readings.emplace_back("memory_available_bytes", *kib * 1024);
  return readings;
}

OomCounter::OomCounter(pid_t pid)
    : path_(memory_group_file(pid, "memory.events", "memory.oom_control")) {}

std::int64_t OomCounter::read() const {
  if (path_.empty()) return -1;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("oom_kill ")) return number_in(line);
  }
  return -1;
}

}  // namespace stepscope
