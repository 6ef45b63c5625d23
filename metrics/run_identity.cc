#include "metrics/run_identity.h"

#include <array>
#include <cstdlib>
#include <ctime>

namespace stepscope {
namespace {

std::string time_text(std::int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string job_of(const Variables& variable, const std::string& host) {
  for (const char* name : {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "RAY_JOB_ID"}) {
    std::string job = variable(name);
    // torchrun without a rendezvous calls every run "none".
    if (!job.empty() && job != "none" && job != "None") return job;
  }
  // The pods of an indexed Kubernetes job are called JOB-INDEX.
  const std::string ending = "-" + variable("JOB_COMPLETION_INDEX");
  const bool indexed = ending.size() > 1 && host.ends_with(ending);
  return indexed ? host.substr(0, host.size() - ending.size()) : "";
}

}  // namespace

std::string variable_of_this_process(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

RunIdentity identify_run(const Variables& variable, const std::string& program,
                         std::int64_t start_unix_s, const std::string& host) {
  const std::string job = job_of(variable, host);
  return {job, job.empty() ? program + "@" + time_text(start_unix_s) : job, host};
}

}  // namespace stepscope
