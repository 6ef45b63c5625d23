// How threads were scheduled, their stack samples and their module calls, as rows. Internal to
// store/.
#pragma once

#include <functional>
#include <vector>

#include "store/events.h"
#include "store/row_check.h"
#include "store/sqlite.h"
#include "store/status.h"
#include "store/trace_reader.h"

namespace stepscope {

// Thread safety: that of the database.
class ThreadWriter {
 public:
  Status prepare(Database& database);

  // All of these write within the open transaction.
  Status add(const ThreadStretch& stretch);
  Status add(const WatchedThread& thread);
  Status add(const ThreadReading& reading);
  Status add(const StackFrame& frame);
  Status add(const StackSample& sample);
  Status add(const NativeSample& sample);
  Status add(const ModuleCall& call);

 private:
  Statement stretch_, thread_, reading_, frame_, sample_, native_, module_;
};

// Each refuses rows that row_check.h rejects. `known`: the ids that rows may refer to.
Result<std::vector<StoredWatchedThread>> read_watched_threads(Database& database,
                                                              const KnownIds& known);
// The rows with an id above `after`.
Status scan_stretches(Database& database, const KnownIds& known,
                      const std::function<void(const ThreadStretch&)>& visit,
                      std::int64_t after = 0);
// `threads`: how many rows watched_thread has.
Status scan_thread_readings(Database& database, const KnownIds& known, std::int64_t threads,
                            const std::function<void(const ThreadReading&)>& visit,
                            std::int64_t after = 0);
// The frames with an id above `after`, in the order of their ids.
Result<std::vector<StackFrame>> read_frames(Database& database, const KnownIds& known,
                                            std::int64_t after = 0);
// `frames`: how many rows frame has.
Status scan_stack_samples(Database& database, const KnownIds& known, std::int64_t threads,
                          std::int64_t frames, const std::function<void(const StackSample&)>& visit,
                          std::int64_t after = 0);
Status scan_native_samples(Database& database, const KnownIds& known, std::int64_t threads,
                           const std::function<void(const NativeSample&)>& visit,
                           std::int64_t after = 0);

Status scan_module_calls(Database& database, const KnownIds& known,
                         const std::function<void(const ModuleCall&)>& visit,
                         std::int64_t after = 0);

}  // namespace stepscope
