#include "profiler/identity/job_identity.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>

#include "profiler/identity/job_variables.h"

namespace stepscope {
namespace {

constexpr std::size_t kLongestValue = 1024;  // bytes

void keep_job_variable(std::string_view variable, JobVariables& kept) {
  const std::size_t equals = variable.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view name = variable.substr(0, equals);
  const auto is_in_table = [&](const JobVariable& row) {
    return name == row.name || (row.tasks != nullptr && name == row.tasks);
  };
  if (std::any_of(std::begin(kJobVariables), std::end(kJobVariables), is_in_table))
    kept.emplace(name, variable.substr(equals + 1, kLongestValue));
}

std::string_view value_of(const JobVariables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string_view() : std::string_view(found->second);
}

std::int64_t number_of(std::string_view text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 ? number : -1;
}

// The value of the first variable that is set for `fact`.
std::string_view text_of(const JobVariables& variables, JobFact fact) {
  for (const JobVariable& row : kJobVariables) {
    if (row.fact != fact) continue;
    if (row.tasks != nullptr && number_of(value_of(variables, row.tasks)) <= 1) continue;
    if (row.unless != nullptr && !value_of(variables, row.unless).empty()) continue;
    const std::string_view value = value_of(variables, row.name);
    // torchrun's run id is "none" unless the user gives one.
    if (!value.empty() && value != "none" && value != "None") return value;
  }
  return {};
}

// NAME of a pod called NAME-INDEX; "" if the host has another form of name.
std::string_view indexed_job(std::string_view host, std::string_view index) {
  if (index.empty() || host.size() <= index.size() + 1 || !host.ends_with(index)) return {};
  const std::string_view name = host.substr(0, host.size() - index.size());
  return name.ends_with('-') ? name.substr(0, name.size() - 1) : std::string_view();
}

}  // namespace

JobVariables job_variables(const char* const* variables) {
  JobVariables kept;
  for (; *variables != nullptr; ++variables) keep_job_variable(*variables, kept);
  return kept;
}

JobVariables job_variables(std::string_view proc_environ) {
  JobVariables kept;
  while (!proc_environ.empty()) {
    const std::size_t end = std::min(proc_environ.find('\0'), proc_environ.size());
    keep_job_variable(proc_environ.substr(0, end), kept);
    proc_environ.remove_prefix(std::min(end + 1, proc_environ.size()));
  }
  return kept;
}

JobIdentity identify_job(const JobVariables& variables, std::string_view host) {
  const auto number = [&](JobFact fact) { return number_of(text_of(variables, fact)); };
  JobIdentity identity;
  identity.job_id = text_of(variables, JobFact::kJobId);
  if (identity.job_id.empty())
    identity.job_id = indexed_job(host, value_of(variables, "JOB_COMPLETION_INDEX"));
  identity.job_name = text_of(variables, JobFact::kJobName);
  identity.node_rank = number(JobFact::kNodeRank);
  identity.rank = number(JobFact::kRank);
  identity.local_rank = number(JobFact::kLocalRank);
  identity.world_size = number(JobFact::kWorldSize);
  identity.restart = number(JobFact::kRestart);
  identity.requeue = number(JobFact::kRequeue);
  return identity;
}

std::vector<std::pair<std::string, std::string>> identity_meta(const JobIdentity& identity) {
  std::vector<std::pair<std::string, std::string>> meta;
  if (!identity.job_id.empty()) meta.emplace_back("job_id", identity.job_id);
  if (!identity.job_name.empty()) meta.emplace_back("job_name", identity.job_name);
  const std::pair<const char*, std::int64_t> numbers[] = {
      {"node_rank", identity.node_rank},   {"rank", identity.rank},
      {"local_rank", identity.local_rank}, {"world_size", identity.world_size},
      {"restart_count", identity.restart}, {"requeue_count", identity.requeue}};
  for (const auto& [key, number] : numbers) {
    if (number >= 0) meta.emplace_back(key, std::to_string(number));
  }
  return meta;
}

std::string run_id(const JobIdentity& identity) {
  if (identity.job_id.empty() || identity.requeue <= 0) return identity.job_id;
  return identity.job_id + "." + std::to_string(identity.requeue);
}

}  // namespace stepscope
