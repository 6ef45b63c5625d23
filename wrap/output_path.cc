#include "wrap/output_path.h"

#include <ctime>
#include <filesystem>
#include <system_error>

#include "profiler/identity/output_name.h"
#include "wrap/run_names.h"

namespace stepscope {
namespace {

std::string start_time() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &utc)};
}

// A path must distinguish runs, so {job} is the id of the job. Without a launcher, only the name
// and the start time identify a run.
OutputNames output_names(const std::string& job, const std::vector<std::string>& program) {
  const RunNames named = name_run(job, program);
  OutputNames names{.job = named.job_id,
                    .host = named.host,
                    .rank = named.rank,
                    .node = named.node,
                    .run = named.run};
  if (names.run.empty()) names.run = (job.empty() ? named.program : job) + "-" + start_time();
  return names;
}

}  // namespace

Result<std::string> output_of(const std::string& text, const std::string& job,
                              const std::vector<std::string>& program) {
  if (text.find_first_of("{}") == std::string::npos) return text;
  auto expanded = expand_output(text, output_names(job, program));
  if (!expanded.ok()) return expanded.status();
  const std::filesystem::path folder = std::filesystem::path(*expanded).parent_path();
  if (folder.empty() || text.rfind('/') < text.find('{')) return expanded;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Status::error(ErrorKind::kIo,
                         folder.string() + ": cannot be created (" + error.message() + ")");
  }
  return expanded;
}

}  // namespace stepscope
