// Writing facts about a recording: the rows of the store's `meta` (docs/schema.md lists the keys).
#pragma once

#include "profiler/session/recorder_library.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

inline Status set_all_meta(TraceWriter& writer, const Meta& meta) {
  for (const auto& [key, value] : meta) {
    if (Status status = writer.set_meta(key, value); !status.ok()) return status;
  }
  return {};
}

}  // namespace stepscope
