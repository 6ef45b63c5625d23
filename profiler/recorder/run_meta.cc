#include "profiler/recorder/run_meta.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "profiler/identity/program_name.h"
#include "profiler/identity/run_environment.h"
#include "profiler/process/proc_text.h"
#include "store/text_lines.h"

namespace stepscope {
namespace {

constexpr std::size_t kMaxArgumentBytes = std::size_t{64} << 10;

// In /proc/PID/cmdline, a NUL ends each argument.
std::vector<std::string> own_words() {
  const std::string text = read_proc_file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// Cuts a long list after a whole word: of thousands of file names, the first ones are enough.
std::string argument_lines(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  std::size_t bytes = 0;
  for (const std::string& word : words) {
    bytes += word.size() + 1;
    if (bytes > kMaxArgumentBytes) break;
    kept.push_back(word);
  }
  return join_lines(kept);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> program_meta(
    const std::vector<std::string>& words) {
  return {{"program", name_program(words).name}, {"arguments", argument_lines(words)}};
}

std::vector<std::pair<std::string, std::string>> run_meta() {
  auto meta = program_meta(own_words());
  std::error_code ignored;
  meta.emplace_back("working_folder", std::filesystem::current_path(ignored).string());
  meta.emplace_back("environment", join_lines(recorded_environment(environ)));
  for (auto& fact : identity_meta(own_identity())) meta.push_back(std::move(fact));
  return meta;
}

JobIdentity own_identity() {
  utsname system{};
  uname(&system);
  return identify_job(job_variables(environ), system.nodename);
}

JobIdentity identity_of_process(std::int64_t pid) {
  utsname system{};
  uname(&system);
  return identify_job(job_variables(read_proc_file("/proc/" + std::to_string(pid) + "/environ")),
                      system.nodename);
}

std::vector<std::filesystem::path> source_folders(const std::vector<std::string>& words) {
  const std::filesystem::path path = name_program(words).path;
  std::vector<std::filesystem::path> folders;
  if (path.has_parent_path()) folders.push_back(path.parent_path());
  folders.emplace_back(".");
  return folders;
}

std::vector<std::filesystem::path> own_source_folders() { return source_folders(own_words()); }

}  // namespace stepscope
