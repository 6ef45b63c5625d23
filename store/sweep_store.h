// Writes the store of a sweep: one SQLite file with all its settings and runs (sweep_schema.sql).
// It is not a recording: code that opens recordings refuses it with a one-line error, and vice
// versa.
//
// Thread safety: none; one thread at a time. Invariant: a run is stored with all of its steps or
// not at all, however the writer dies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "store/status.h"
#include "store/sweep_rows.h"

namespace stepscope {

class SweepWriter {
 public:
  // A new sweep; an earlier one at `path` is kept as PATH.old. Errors: those of
  // TraceWriter::create(). A failure leaves nothing behind.
  static Result<std::unique_ptr<SweepWriter>> create(const std::filesystem::path& path,
                                                     const SweepPlan& plan);
  // Opens an existing sweep to continue it. kBusy while another process writes to it.
  static Result<std::unique_ptr<SweepWriter>> open(const std::filesystem::path& path);
  ~SweepWriter();
  SweepWriter(const SweepWriter&) = delete;
  SweepWriter& operator=(const SweepWriter&) = delete;

  // Adds the whole run in one transaction. If it fails, nothing is added.
  Status add_run(const SweepRun& run);
  // Removes the runs whose outcome is not ok, so that they are run again. Returns their number.
  Result<std::int64_t> forget_failed_runs();
  Status set_meta(const std::string& key, const std::string& value);

 private:
  class Impl;
  explicit SweepWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope
