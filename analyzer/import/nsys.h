// Reads an SQLite export of Nsight Systems (`nsys export --type sqlite`) into a RunBuilder.
// docs/import.md lists what is read and what is not.
//
// nsys creates tables only when needed, and added columns over the years: any table and any column
// may be missing. Rows are read one after the other.
//
// Thread safety: none. Memory: the names in use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/import/run_builder.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

class NsysReader {
 public:
  // `steps`: a shell pattern; NVTX ranges of such names are steps. Empty: none are.
  NsysReader(RunBuilder& run, std::filesystem::path path, std::string steps);

  // As KinetoReader::read().
  Status read(const std::function<bool()>& keep_going);
  Status finish(std::int64_t rank);

  [[nodiscard]] bool any_known() const { return known_; }  // a table that Nsight Systems writes
  [[nodiscard]] bool has_wall_clock() const { return epoch_ns_ > 0; }
  [[nodiscard]] std::int64_t steps() const { return steps_found_; }
  // The ranges with the name of a step, also those that have no valid time and so are no steps.
  [[nodiscard]] std::int64_t step_ranges() const { return step_ranges_; }

 private:
  using Visit = std::function<Status(const Statement&)>;
  using StreamKey = std::tuple<DeviceId, std::int64_t, std::int64_t>;

  // Whether the file has a table of that name. Errors: kBadInput for a view.
  Result<bool> is_table(const char* name);
  // Calls `visit` with each row of a table: its columns in the order of `columns`, NULL for those
  // it lacks. A missing table has no rows.
  Status each(const char* table, const std::vector<const char*>& columns, const Visit& visit);
  Status read_facts();
  Status read_ranges();
  Status read_calls();
  Status read_kernels();
  Status read_graphs();
  Status read_copies();
  Status read_memsets();
  Status read_syncs();
  Status take_range(const Statement& row);

  [[nodiscard]] std::int64_t since_session(std::int64_t time) const;
  // The common part of the rows of activities; columns 0 to 6 are kActivityColumns.
  bool place(const Statement& row, SessionTime& start, Duration& dur);
  bool activity(const Statement& row, Activity& activity);
  std::int64_t correlation(const Statement& row, int at, ProcessId process);
  ProcessId process_of(std::int64_t global_id);
  ProcessId process_of_activity(const Statement& row);
  ThreadId thread_of(std::int64_t global_tid);
  DeviceId device_of(ProcessId process, std::int64_t number);
  StreamId stream_of(DeviceId device, std::int64_t context, std::int64_t number);
  StringId string_of(std::int64_t id);
  std::string text_of(std::int64_t id);

  RunBuilder& run_;
  const std::filesystem::path path_;
  const std::string steps_;
  Database database_;
  Statement find_string_;
  std::function<bool()> keep_going_;
  std::int64_t rows_ = 0;
  std::int64_t epoch_ns_ = 0;
  std::int64_t steps_found_ = 0, step_ranges_ = 0;
  bool known_ = false;
  std::unordered_map<std::int64_t, StringId> strings_;
  std::map<std::int64_t, ProcessId> processes_;  // by pid
  std::map<std::int64_t, ThreadId> threads_;     // by globalTid
  std::map<std::pair<ProcessId, std::int64_t>, DeviceId> devices_;
  std::map<StreamKey, StreamId> streams_;
  std::map<std::int64_t, Device> device_facts_;  // by number
};

// "aten::mm" and 5 of "aten::mm, seq = 5, op_id = 12", as torch.autograd.profiler.emit_nvtx() names
// ranges. `op`: the name has that form, so it is an op rather than a range of the program.
struct NvtxName {
  std::string_view name;
  std::int64_t sequence = -1;
  bool op = false;
};
NvtxName parse_nvtx_name(std::string_view text);

}  // namespace stepscope
