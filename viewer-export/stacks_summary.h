// What the exports of stack samples have in common.
#pragma once

#include <cstdint>

#include "store/trace_reader.h"
#include "viewer-export/cut.h"

namespace stepscope {

struct StacksSummary {
  std::int64_t samples = 0;
  std::int64_t threads = 0;
  std::int64_t every = 1;    // 2: only every second sample was used
  std::int64_t skipped = 0;  // samples that are out of order or have a negative time
};

// The error that there is nothing to export, and why.
Status no_stack_samples(const TraceReader& reader, const Cut& cut);

}  // namespace stepscope
