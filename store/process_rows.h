// Processes as rows: their threads, how they ended and in which op, and their counters. Internal to
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
class ProcessWriter {
 public:
  Status prepare(Database& database);

  // All of these write within the open transaction.
  Status add(const Process& process);
  Status add(const Thread& thread);
  Status update(ThreadId id, const Thread& thread);
  Status add(const ProcessEnd& end);  // replaces an earlier end of the same process
  Status add(const UnfinishedOp& op);
  Status add(const Sample& sample);

 private:
  Statement process_, thread_, update_thread_, end_, unfinished_, sample_;
};

// Each refuses rows that row_check.h rejects. `known`: the ids that rows may refer to.
Result<std::vector<StoredProcess>> read_processes(Database& database);
Result<std::vector<StoredThread>> read_threads(Database& database, const KnownIds& known);
Result<std::vector<ProcessEnd>> read_process_ends(Database& database, const KnownIds& known);
Result<std::vector<UnfinishedOp>> read_unfinished_ops(Database& database, const KnownIds& known);
// The samples after row `after`.
Status scan_samples(Database& database, const KnownIds& known,
                    const std::function<bool(const Sample&)>& visit, std::int64_t after = 0);

}  // namespace stepscope
