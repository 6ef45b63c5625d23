#include "cli/run_output.h"

#include <sys/utsname.h>

#include <ctime>
#include <filesystem>
#include <system_error>

#include "profiler/identity/output_name.h"
#include "profiler/identity/program_name.h"
#include "profiler/recorder/run_meta.h"

namespace stepscope::cli {
namespace {

std::string start_time() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &utc)};
}

// Without a launcher there is one process on one machine, and no id but its name and time.
OutputNames names_of(const std::string& job, const std::vector<std::string>& program) {
  const JobIdentity identity = own_identity();
  utsname system{};
  uname(&system);
  const auto number = [](std::int64_t value, const std::string& otherwise) {
    return value >= 0 ? std::to_string(value) : otherwise;
  };
  OutputNames names;
  const std::string called = !job.empty() ? job : name_program(program).name;
  names.job = job.empty() && !identity.job_id.empty() ? identity.job_id : called;
  names.host = system.nodename;
  names.rank = number(identity.rank, "0");
  names.node = number(identity.node_rank, system.nodename);
  names.run = run_id(identity);
  if (names.run.empty()) names.run = called + "-" + start_time();
  return names;
}

}  // namespace

Result<std::string> output_of(const std::string& text, const std::string& job,
                              const std::vector<std::string>& program) {
  if (text.find_first_of("{}") == std::string::npos) return text;
  auto expanded = expand_output(text, names_of(job, program));
  if (!expanded.ok()) return expanded.status();
  const std::filesystem::path folder = std::filesystem::path(*expanded).parent_path();
  if (folder.empty() || text.rfind('/') < text.find('{')) return expanded;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Status::error(ErrorKind::kIo,
                         folder.string() + ": cannot be made (" + error.message() + ")");
  }
  return expanded;
}

}  // namespace stepscope::cli
