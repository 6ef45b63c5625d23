// Identifies a process's job, and which part of the job the process is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepscope {

// The variables of kJobVariables that are set, by name.
using JobVariables = std::map<std::string, std::string, std::less<>>;

// Takes a list such as `environ`. Long values are truncated.
JobVariables job_variables(const char* const* variables);
// Takes the text of /proc/PID/environ.
JobVariables job_variables(std::string_view proc_environ);

// Fields that are empty or -1 are not known.
struct JobIdentity {
  std::string job_id;
  std::string job_name;
  std::int64_t node_rank = -1;
  std::int64_t rank = -1;
  std::int64_t local_rank = -1;
  std::int64_t world_size = -1;
  std::int64_t restart = -1;
  std::int64_t requeue = -1;
};

// `host` is the host name. An indexed Kubernetes job has no variable with its name, but its
// pods have the host name NAME-INDEX.
JobIdentity identify_job(const JobVariables& variables, std::string_view host);

// The known facts as rows of the store's `meta` (docs/schema.md).
std::vector<std::pair<std::string, std::string>> identity_meta(const JobIdentity& identity);

// The id of the run: the job's id, plus the number of the attempt if the job was restarted or
// requeued. "" without a job id.
std::string run_id(const JobIdentity& identity);

}  // namespace stepscope
