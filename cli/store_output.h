// The check of -o in the verbs that write a store.
#pragma once

#include <string>

#include "store/status.h"

namespace stepscope::cli {

// Errors: kUsage for no name, and for "-", which other verbs take for standard output.
inline Status check_store_output(const std::string& output) {
  if (output.empty()) return Status::error(ErrorKind::kUsage, "the name of the output is empty");
  if (output != "-") return {};
  return Status::error(ErrorKind::kUsage, "-o -: a store cannot be a stream; name a file");
}

}  // namespace stepscope::cli
