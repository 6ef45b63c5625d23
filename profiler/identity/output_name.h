// The name of a store with placeholders in it: 'runs/{job}/{host}.db'.
#pragma once

#include <string>
#include <string_view>

#include "store/status.h"

namespace stepscope {

// What stands for each placeholder. None is empty.
struct OutputNames {
  std::string job, host, rank, node, run;
};

// `text` with {job}, {host}, {rank}, {node} and {run} replaced; {{ and }} are braces. Values become
// one part of a path: letters, digits, '.', '_' and '-', and no dot at the start. Errors: kUsage.
Result<std::string> expand_output(std::string_view text, const OutputNames& names);

}  // namespace stepscope
