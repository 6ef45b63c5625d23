// Writing the store of a sweep: one SQLite file with every setting and every run of it
// (sweep_schema.sql). No recording; what opens recordings refuses it in one line, and the other way
// round.
//
// Thread safety: none; one thread at a time. Invariant: a run is there with all of its steps, or
// not at all, whatever the writer dies of.
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
  // One that is there, to go on with it. kBusy while another process does.
  static Result<std::unique_ptr<SweepWriter>> open(const std::filesystem::path& path);
  ~SweepWriter();
  SweepWriter(const SweepWriter&) = delete;
  SweepWriter& operator=(const SweepWriter&) = delete;

  // All of the run in one transaction. After an error it is as if it had not been called.
  Status add_run(const SweepRun& run);
  // Takes the runs of these outcomes out again, so that they are made anew. How many there were.
  Result<std::int64_t> forget_failed_runs();
  Status set_meta(const std::string& key, const std::string& value);

 private:
  class Impl;
  explicit SweepWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope
