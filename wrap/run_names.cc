#include "wrap/run_names.h"

#include <sys/utsname.h>

#include <cstdint>

#include "profiler/identity/job_identity.h"
#include "profiler/identity/program_name.h"
#include "profiler/recorder/run_meta.h"

namespace stepscope {
namespace {

std::string number_or(std::int64_t number, const std::string& otherwise) {
  return number >= 0 ? std::to_string(number) : otherwise;
}

const std::string& first_of(const std::string& job, const std::string& launcher,
                            const std::string& program) {
  if (!job.empty()) return job;
  return launcher.empty() ? program : launcher;
}

}  // namespace

RunNames name_run(const std::string& job, const std::vector<std::string>& program) {
  const JobIdentity identity = own_identity();
  utsname system{};
  uname(&system);
  RunNames names;
  names.program = name_program(program).name;
  names.job = first_of(job, identity.job_name, names.program);
  names.job_id = first_of(job, identity.job_id, names.program);
  names.run = run_id(identity);
  names.host = system.nodename;
  names.rank = number_or(identity.rank, "0");
  names.node = number_or(identity.node_rank, names.host);
  return names;
}

}  // namespace stepscope
