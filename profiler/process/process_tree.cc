#include "profiler/process/process_tree.h"

#include <dirent.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>

#include "profiler/process/proc_text.h"

namespace stepscope {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

std::string tasks_folder(const std::string& proc, pid_t pid) {
  return proc + "/" + std::to_string(pid) + "/task";
}

}  // namespace

std::int64_t parent_of(std::int64_t pid) {
  const std::string text = read_proc_file("/proc/" + std::to_string(pid) + "/stat");
  const auto fields = stat_fields(text);
  return fields.size() > 1 ? number_in(fields[1]) : 0;
}

std::vector<pid_t> threads_of(const std::string& proc, pid_t pid, std::size_t most) {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(tasks_folder(proc, pid).c_str()));
  if (folder == nullptr) return threads;
  while (const dirent* entry = readdir(folder.get())) {
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    pid_t tid = 0;
    const auto parsed = std::from_chars(entry->d_name, end, tid);
    if (parsed.ec == std::errc() && parsed.ptr == end) threads.push_back(tid);
    if (threads.size() >= most) break;
  }
  return threads;
}

// Each thread lists the children that it started.
std::vector<pid_t> children_of(const std::string& proc, pid_t pid, std::size_t most_threads,
                               std::size_t most) {
  std::vector<pid_t> children;
  for (const pid_t tid : threads_of(proc, pid, most_threads)) {
    std::ifstream file(tasks_folder(proc, pid) + "/" + std::to_string(tid) + "/children");
    for (pid_t child = 0; children.size() < most && file >> child;) children.push_back(child);
  }
  return children;
}

}  // namespace stepscope
