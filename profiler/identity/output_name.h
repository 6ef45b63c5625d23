// Expands placeholders in the name of a store, such as 'runs/{job}/{host}.db'.
#pragma once

#include <string>
#include <string_view>

#include "store/status.h"

namespace stepscope {

// The value for each placeholder; never empty.
struct OutputNames {
  std::string job, host, rank, node, run;
};

// `text` with {job}, {host}, {rank}, {node} and {run} replaced; {{ and }} are braces. Each value
// becomes a single path component: letters, digits, '.', '_' and '-', with no dot at the start.
// Errors: kUsage.
Result<std::string> expand_output(std::string_view text, const OutputNames& names);

}  // namespace stepscope
