// Reads the store of a sweep (sweep_store.h), even while it is being written.
#pragma once

#include <filesystem>
#include <vector>

#include "store/status.h"
#include "store/sweep_rows.h"

namespace stepscope {

// Whether the file is the store of a sweep, of any version. False also when it cannot be read.
bool is_sweep(const std::filesystem::path& path);

struct SweepData {
  SweepPlan plan;
  std::vector<SweepRun> runs;  // in the order in which they ran
};

// Errors: kNotFound, kBadInput (not a sweep, a newer schema, damaged).
Result<SweepData> read_sweep(const std::filesystem::path& path);

}  // namespace stepscope
