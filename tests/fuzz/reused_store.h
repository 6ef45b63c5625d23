// One store for all runs of a fuzzer: to make one takes longer than all the rest.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <memory>

#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/fuzz/require.h"

namespace stepscope::fuzz {

// Whether a recording is beyond what a store may hold, which random times are now and then. Any
// other error is a broken promise.
bool is_refused(const Status& status);

class ReusedStore {
 public:
  ReusedStore();
  ~ReusedStore();
  ReusedStore(const ReusedStore&) = delete;
  ReusedStore& operator=(const ReusedStore&) = delete;

  // The store without any event. Names and the writer's ids of them stay.
  TraceWriter& empty();
  // What has been written. Goes before the next empty().
  std::unique_ptr<TraceReader> read();

 private:
  std::filesystem::path folder_;
  std::unique_ptr<TraceWriter> writer_;
  sqlite3* cleaner_ = nullptr;
};

}  // namespace stepscope::fuzz
