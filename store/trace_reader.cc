#include "store/trace_reader.h"

#include <utility>

#include "store/analysis_rows.h"
#include "store/device_rows.h"
#include "store/device_slices.h"
#include "store/process_rows.h"
#include "store/rows.h"
#include "store/sqlite.h"
#include "store/store_tables.h"
#include "store/thread_rows.h"

namespace stepscope {

namespace fs = std::filesystem;

// Holds a snapshot as long as it lives, if somebody records into the store.
class TraceReader::Impl {
 public:
  explicit Impl(std::unique_ptr<StoreTables> opened) : tables(std::move(opened)) {}

  Status load() {
    // A store that nobody records into needs no transaction: its recorded data does not change, and
    // an open transaction would keep an analysis from being written.
    if (tables->being_recorded()) {
      if (Status status = tables->database.exec("BEGIN"); !status.ok()) return status;
    }
    return tables->load();
  }
  [[nodiscard]] Result<std::int64_t> rows_of(const char* table) const {
    return tables->database.query_int(std::string("SELECT count(*) FROM ") + table +
                                      " WHERE id > 0");  // others are not read
  }

  std::unique_ptr<StoreTables> tables;
};

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::~TraceReader() = default;

Result<std::unique_ptr<TraceReader>> TraceReader::open(const fs::path& path) {
  auto tables = StoreTables::open(path);
  if (!tables.ok()) return tables.status();
  auto impl = std::make_unique<Impl>(*std::move(tables));
  if (Status status = impl->load(); !status.ok()) return status;
  return std::unique_ptr<TraceReader>(new TraceReader(std::move(impl)));
}

std::optional<std::string> TraceReader::meta(std::string_view key) const {
  return impl_->tables->meta(key);
}

std::int64_t TraceReader::meta_int(std::string_view key, std::int64_t otherwise) const {
  return impl_->tables->meta_int(key, otherwise);
}

bool TraceReader::being_recorded() const { return impl_->tables->being_recorded(); }
bool TraceReader::is_cut_off() const { return !being_recorded() && meta("state") == "recording"; }
std::string_view TraceReader::text(StringId id) const { return impl_->tables->text(id); }
std::size_t TraceReader::string_count() const { return impl_->tables->strings.size(); }
const std::vector<StoredProcess>& TraceReader::processes() const {
  return impl_->tables->processes;
}
const std::vector<StoredThread>& TraceReader::threads() const { return impl_->tables->threads; }
const std::vector<StoredDevice>& TraceReader::devices() const { return impl_->tables->devices; }
const std::vector<StoredStream>& TraceReader::streams() const { return impl_->tables->streams; }

Result<std::vector<Phase>> TraceReader::phases() const {
  std::vector<Phase> phases;
  RowCheck check("phase", impl_->tables->known());
  // Of phases with equal times, the one that was stored last is the parent; instants stay in the
  // order in which they were stored.
  const Status status =
      for_each_row(impl_->tables->database,
                   "SELECT thread_id, kind, name_id, start_ns, dur_ns, cpu_ns, id FROM phase"
                   " ORDER BY thread_id, start_ns, dur_ns DESC, iif(dur_ns > 0, -id, id)",
                   [&](const Statement& row) {
                     check.any_row(row.integer(6));
                     phases.push_back(phase_of(row, check));
                     return check.ok() ? Status() : check.status(impl_->tables->database);
                   });
  if (!status.ok()) return status;
  return phases;
}

Result<std::vector<Loss>> TraceReader::losses() const {
  return read_losses(impl_->tables->database, impl_->tables->known());
}

Result<std::vector<ProcessEnd>> TraceReader::process_ends() const {
  return read_process_ends(impl_->tables->database, impl_->tables->known());
}

Result<std::vector<UnfinishedOp>> TraceReader::unfinished_ops() const {
  return read_unfinished_ops(impl_->tables->database, impl_->tables->known());
}

Status TraceReader::for_each_sample(const std::function<bool(const Sample&)>& visit) const {
  return scan_samples(impl_->tables->database, impl_->tables->known(), visit);
}

Result<std::vector<StoredWatchedThread>> TraceReader::watched_threads() const {
  return read_watched_threads(impl_->tables->database, impl_->tables->known());
}

Status TraceReader::for_each_stretch(const std::function<void(const ThreadStretch&)>& visit) const {
  return scan_stretches(impl_->tables->database, impl_->tables->known(), visit);
}

Status TraceReader::for_each_thread_reading(
    const std::function<void(const ThreadReading&)>& visit) const {
  const auto threads = impl_->rows_of("watched_thread");
  if (!threads.ok()) return threads.status();
  return scan_thread_readings(impl_->tables->database, impl_->tables->known(), *threads, visit);
}

Result<std::vector<StackFrame>> TraceReader::frames() const {
  return read_frames(impl_->tables->database, impl_->tables->known());
}

Status TraceReader::for_each_module_call(
    const std::function<void(const ModuleCall&)>& visit) const {
  return scan_module_calls(impl_->tables->database, impl_->tables->known(), visit);
}

Status TraceReader::for_each_stack_sample(
    const std::function<void(const StackSample&)>& visit) const {
  const auto threads = impl_->rows_of("watched_thread");
  if (!threads.ok()) return threads.status();
  const auto frames = impl_->rows_of("frame");
  if (!frames.ok()) return frames.status();
  return scan_stack_samples(impl_->tables->database, impl_->tables->known(), *threads, *frames,
                            visit);
}

Status TraceReader::for_each_native_sample(
    const std::function<void(const NativeSample&)>& visit) const {
  const auto threads = impl_->rows_of("watched_thread");
  if (!threads.ok()) return threads.status();
  return scan_native_samples(impl_->tables->database, impl_->tables->known(), *threads, visit);
}

Result<std::int64_t> TraceReader::op_count() const { return impl_->tables->op_count(); }

Status TraceReader::for_each_op(const std::function<bool(const Op&)>& visit) const {
  return impl_->tables->ops.scan(impl_->tables->database, impl_->tables->known(), visit);
}

Status TraceReader::for_each_api_call(const std::function<void(const ApiCall&)>& visit) const {
  return scan(impl_->tables->database, impl_->tables->known(), visit);
}
Status TraceReader::for_each_kernel(const std::function<void(const Kernel&)>& visit) const {
  return scan(impl_->tables->database, impl_->tables->known(), visit);
}
Status TraceReader::for_each_copy(const std::function<void(const Copy&)>& visit) const {
  return scan(impl_->tables->database, impl_->tables->known(), visit);
}
Status TraceReader::for_each_memset(const std::function<void(const Memset&)>& visit) const {
  return scan(impl_->tables->database, impl_->tables->known(), visit);
}
Status TraceReader::for_each_sync(const std::function<void(const Sync&)>& visit) const {
  return scan(impl_->tables->database, impl_->tables->known(), visit);
}

Status TraceReader::for_each_slice_by_start(
    const std::function<bool(const DeviceSlice&)>& visit) const {
  return scan_by_start(impl_->tables->database, impl_->tables->known(), visit);
}
Status TraceReader::for_each_call_by_start(const std::function<bool(const ApiCall&)>& visit) const {
  return scan_by_start(impl_->tables->database, impl_->tables->known(), visit);
}

Result<Analysis> TraceReader::analysis() const {
  return read_analysis(impl_->tables->database, impl_->tables->known());
}

}  // namespace stepscope
