// Feeds arbitrary bytes to what reads the environment of a rank and names a store after it: the
// first line is the name, the rest the text of /proc/PID/environ. Promises: no crash; no number
// below -1; no text longer than the limits; no placeholder adds a folder to the name.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/identity/job_identity.h"
#include "profiler/identity/output_name.h"
#include "profiler/identity/rank_identities.h"
#include "tests/fuzz/require.h"

namespace {

using namespace stepscope;
using stepscope::fuzz::require;

constexpr std::size_t kLongestText = 1024;

void check_name(std::string_view text, const JobIdentity& identity) {
  const OutputNames names{identity.job_id, identity.job_name, std::to_string(identity.rank),
                          std::to_string(identity.node_rank), run_id(identity)};
  const auto expanded = expand_output(text, names);
  if (!expanded.ok()) {
    require(expanded.status().kind() == ErrorKind::kUsage, "an error is one of usage");
    return;
  }
  require(std::count(expanded->begin(), expanded->end(), '/') ==
              std::count(text.begin(), text.end(), '/'),
          "a value stays one part of the path");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const JobIdentity identity =
      identify_job(job_variables(bytes.substr(std::min(end + 1, bytes.size()))), "train-5");
  for (const std::int64_t number : {identity.node_rank, identity.rank, identity.local_rank,
                                    identity.world_size, identity.restart, identity.requeue})
    require(number >= -1, "a number is known or -1");
  for (const auto& [key, value] : identity_meta(identity))
    require(!value.empty() && value.size() <= kLongestText, "a fact is no longer than the limit");
  RankIdentities ranks(identity);
  for (const std::int64_t rank : {identity.rank, std::int64_t{7}, identity.rank})
    ranks.add(rank, identity);
  check_name(bytes.substr(0, end), identity);
  return 0;
}
