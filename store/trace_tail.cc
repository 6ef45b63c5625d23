#include "store/trace_tail.h"

#include <algorithm>
#include <utility>

#include "store/device_rows.h"
#include "store/process_rows.h"
#include "store/store_tables.h"
#include "store/thread_rows.h"

namespace stepscope {

// Ids increase: new rows have higher ids than those that were read.
class TraceTail::Impl {
 public:
  explicit Impl(std::unique_ptr<StoreTables> opened) : tables(std::move(opened)) {}

  Status read(const Most& most, News& news);

  std::unique_ptr<StoreTables> tables;

 private:
  // The highest id in a table; 0 where it is empty.
  Result<std::int64_t> last_of(const char* table) const {
    return tables->database.query_int(std::string("SELECT coalesce(max(rowid), 0) FROM ") + table);
  }
  // The id after which to begin in a table so that at most `most` rows follow. Moves `read` to the
  // end of the table.
  Result<std::int64_t> begin_of(const char* table, std::int64_t most, std::int64_t& read,
                                News& news);
  Status read_phases(std::int64_t most, News& news);
  Status read_ops(std::int64_t most, News& news);
  template <typename Event>
  Status read_events(const char* table, std::int64_t most, std::int64_t& read, News& news,
                     std::vector<Event>& events);
  Status read_samples(News& news);
  Status read_schedule(News& news);
  Status read_stacks(std::int64_t most, News& news);
  Status read_native_samples(News& news);
  Status read_the_rest(News& news);

  std::int64_t phases_ = 0, ops_ = 0, calls_ = 0, kernels_ = 0, copies_ = 0, memsets_ = 0,
               syncs_ = 0, samples_ = 0, stretches_ = 0, readings_ = 0, frames_ = 0,
               stack_samples_ = 0, native_samples_ = 0;  // the last id that was read
};

Result<std::int64_t> TraceTail::Impl::begin_of(const char* table, std::int64_t most,
                                               std::int64_t& read, News& news) {
  const auto last = last_of(table);
  if (!last.ok()) return last.status();
  // Only a damaged store has a negative last id; its rows are refused later.
  const std::int64_t begin = std::max(read, std::max<std::int64_t>(*last, 0) - most);
  if (begin > read) news.skipped = true;
  read = *last;
  return begin;
}

Status TraceTail::Impl::read_phases(std::int64_t most, News& news) {
  const Status status = scan_phases(tables->database, tables->known(), phases_, most,
                                    [&](const Phase& phase) { news.phases.push_back(phase); });
  phases_ += static_cast<std::int64_t>(news.phases.size());
  news.more_phases = static_cast<std::int64_t>(news.phases.size()) == most;
  return status;
}

Status TraceTail::Impl::read_ops(std::int64_t most, News& news) {
  if (const auto count = tables->op_count(); !count.ok()) return count.status();
  const auto begin = begin_of("op", most, ops_, news);
  if (!begin.ok()) return begin.status();
  news.op_count = ops_;
  return tables->ops.scan(
      tables->database, tables->known(),
      [&](const Op& op) {
        news.ops.push_back(op);
        return true;
      },
      *begin);
}

template <typename Event>
Status TraceTail::Impl::read_events(const char* table, std::int64_t most, std::int64_t& read,
                                    News& news, std::vector<Event>& events) {
  const auto begin = begin_of(table, most, read, news);
  if (!begin.ok()) return begin.status();
  const std::function<void(const Event&)> add = [&](const Event& event) {
    events.push_back(event);
  };
  return scan(tables->database, tables->known(), add, *begin);
}

Status TraceTail::Impl::read_samples(News& news) {
  const std::int64_t begin = samples_;
  const auto last = last_of("sample");
  if (!last.ok()) return last.status();
  samples_ = *last;
  return scan_samples(
      tables->database, tables->known(),
      [&](const Sample& sample) {
        news.samples.push_back(sample);
        return true;
      },
      begin);
}

Status TraceTail::Impl::read_schedule(News& news) {
  auto threads = read_watched_threads(tables->database, tables->known());
  if (!threads.ok()) return threads.status();
  news.watched_threads = *std::move(threads);
  const auto stretches = last_of("thread_stretch");
  if (!stretches.ok()) return stretches.status();
  const auto readings = last_of("thread_reading");
  if (!readings.ok()) return readings.status();
  const Status status = scan_stretches(
      tables->database, tables->known(),
      [&](const ThreadStretch& stretch) { news.stretches.push_back(stretch); }, stretches_);
  if (!status.ok()) return status;
  stretches_ = *stretches;
  const std::int64_t after = std::exchange(readings_, *readings);
  return scan_thread_readings(
      tables->database, tables->known(), std::ssize(news.watched_threads),
      [&](const ThreadReading& reading) { news.thread_readings.push_back(reading); }, after);
}

Status TraceTail::Impl::read_stacks(std::int64_t most, News& news) {
  auto frames = read_frames(tables->database, tables->known(), frames_);
  if (!frames.ok()) return frames.status();
  news.frames = *std::move(frames);
  frames_ += std::ssize(news.frames);
  const auto last = last_of("stack_sample");
  if (!last.ok()) return last.status();
  const std::int64_t begin = std::max(stack_samples_, std::max<std::int64_t>(*last, 0) - most);
  stack_samples_ = *last;
  return scan_stack_samples(
      tables->database, tables->known(), std::ssize(news.watched_threads), frames_,
      [&](const StackSample& sample) { news.stack_samples.push_back(sample); }, begin);
}

Status TraceTail::Impl::read_native_samples(News& news) {
  const auto last = last_of("native_sample");
  if (!last.ok()) return last.status();
  const std::int64_t after = std::exchange(native_samples_, *last);
  return scan_native_samples(
      tables->database, tables->known(), std::ssize(news.watched_threads),
      [&](const NativeSample& sample) { news.native_samples.push_back(sample); }, after);
}

Status TraceTail::Impl::read_the_rest(News& news) {
  auto losses = read_losses(tables->database, tables->known());
  if (!losses.ok()) return losses.status();
  auto ends = read_process_ends(tables->database, tables->known());
  if (!ends.ok()) return ends.status();
  auto unfinished = read_unfinished_ops(tables->database, tables->known());
  if (!unfinished.ok()) return unfinished.status();
  news.losses = *std::move(losses);
  news.ends = *std::move(ends);
  news.unfinished = *std::move(unfinished);
  return {};
}

Status TraceTail::Impl::read(const Most& most, News& news) {
  Status status = tables->load();
  if (status.ok()) status = read_phases(most.phases, news);
  if (!status.ok() || news.more_phases) return status;
  status = read_ops(most.events, news);
  if (status.ok()) status = read_events("api_call", most.events, calls_, news, news.calls);
  if (status.ok()) status = read_events("kernel", most.events, kernels_, news, news.kernels);
  if (status.ok()) status = read_events("copy", most.events, copies_, news, news.copies);
  if (status.ok()) status = read_events("memset", most.events, memsets_, news, news.memsets);
  if (status.ok()) status = read_events("sync", most.events, syncs_, news, news.syncs);
  if (status.ok()) status = read_samples(news);
  if (status.ok()) status = read_schedule(news);
  if (status.ok()) status = read_stacks(most.events, news);
  if (status.ok()) status = read_native_samples(news);
  if (status.ok()) status = read_the_rest(news);
  return status;
}

TraceTail::TraceTail(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceTail::~TraceTail() = default;

Result<std::unique_ptr<TraceTail>> TraceTail::open(const std::filesystem::path& path) {
  auto tables = StoreTables::open(path);
  if (!tables.ok()) return tables.status();
  return std::unique_ptr<TraceTail>(new TraceTail(std::make_unique<Impl>(*std::move(tables))));
}

Result<TraceTail::News> TraceTail::read(const Most& most) {
  Database& database = impl_->tables->database;
  News news;
  // Checked before the transaction, so that if the recording ends in between, its last commit is
  // still read.
  news.being_recorded = impl_->tables->being_recorded();
  if (Status status = database.exec("BEGIN"); !status.ok()) return status;
  const Status status = impl_->read(most, news);
  const Status ended = database.exec("COMMIT");
  if (!status.ok()) return status;
  if (!ended.ok()) return ended;
  return news;
}

std::optional<std::string> TraceTail::meta(std::string_view key) const {
  return impl_->tables->meta(key);
}
std::int64_t TraceTail::meta_int(std::string_view key, std::int64_t otherwise) const {
  return impl_->tables->meta_int(key, otherwise);
}
std::string_view TraceTail::text(StringId id) const { return impl_->tables->text(id); }
const std::vector<StoredProcess>& TraceTail::processes() const { return impl_->tables->processes; }
const std::vector<StoredThread>& TraceTail::threads() const { return impl_->tables->threads; }
const std::vector<StoredDevice>& TraceTail::devices() const { return impl_->tables->devices; }
const std::vector<StoredStream>& TraceTail::streams() const { return impl_->tables->streams; }

}  // namespace stepscope
