#include "profiler/recorder/process_info.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "profiler/process/proc_text.h"

namespace stepscope {
namespace {

// In /proc/PID/cmdline, a NUL ends each argument.
std::string command_line(const std::string& pid = "self") {
  std::string text = read_proc_file("/proc/" + pid + "/cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown";
}

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

Process this_process() {
  Process process = process_of(getpid());
  process.parent_pid = getppid();
  return process;
}

Process process_of(std::int64_t pid) {
  const std::string text = std::to_string(pid);
  return {pid, first_line(read_proc_file("/proc/" + text + "/comm")), command_line(text), 0, -1};
}

std::vector<std::pair<std::string, std::string>> machine_meta() {
  utsname system{};
  uname(&system);
  return {{"host", system.nodename},
          {"boot_id", first_line(read_proc_file("/proc/sys/kernel/random/boot_id"))},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"cpu_model", cpu_model()},
          {"cpu_count", std::to_string(usable_cpus())},
          {"command", command_line()}};
}

}  // namespace stepscope
