#include "profiler/recorder/store_session.h"

#include <string>
#include <utility>

#include "profiler/recorder/pace.h"
#include "profiler/recorder/process_info.h"
#include "profiler/recorder/run_meta.h"
#include "profiler/ring/clock.h"
#include "store/store_path.h"
#include "store/trace_reader.h"

namespace stepscope {
namespace {

Status set_all_meta(TraceWriter& writer, const Meta& meta) {
  for (const auto& [key, value] : meta) {
    if (Status status = writer.set_meta(key, value); !status.ok()) return status;
  }
  return {};
}

bool is_complete(const std::filesystem::path& store) {
  const auto reader = TraceReader::open(store);
  return reader.ok() && (*reader)->meta("state") == "complete";
}

}  // namespace

Result<std::unique_ptr<StoreSession>> StoreSession::create(const std::filesystem::path& output,
                                                           const Meta& meta) {
  std::unique_ptr<StoreSession> session(new StoreSession(output, meta));
  if (Status status = session->begin(); !status.ok()) return status;
  return session;
}

Result<std::unique_ptr<StoreSession>> StoreSession::prepare(const std::filesystem::path& output,
                                                            const Meta& meta) {
  auto claim = claim_existing(output);
  if (!claim.ok()) return claim.status();
  if (!*claim) return create(output, meta);
  std::unique_ptr<StoreSession> session(new StoreSession(output, meta));
  session->claim_ = *std::move(claim);
  return session;
}

StoreSession::StoreSession(const std::filesystem::path& output, const Meta& meta)
    : output_(output), path_(output), meta_(meta), missing_(output) {}

Status StoreSession::begin() {
  if (begun_ || failed()) return failure_;
  claim_.reset();
  auto writer = TraceWriter::create(output_);
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  for (const Meta& facts : {machine_meta(), run_meta(), meta_, clock_.anchors()}) {
    Status status = set_all_meta(*writer_, facts);
    if (status.ok()) continue;
    writer_->discard();
    writer_.reset();
    return status;
  }
  begun_ = true;
  place_ = StorePlace(output_);
  return {};
}

Status StoreSession::set_meta(const std::string& key, const std::string& value) {
  if (begun_) return writer_->set_meta(key, value);
  meta_.emplace_back(key, value);
  return {};
}

void StoreSession::keep(Status status) noexcept {
  if (status.ok() || failed()) return;
  failure_ = std::move(status);
  // An exception leaves a transaction open; the events in it will be counted as missing.
  static_cast<void>(contained([this] {
    if (writer_ == nullptr) return Status();
    writer_->stop_writing(failure_);
    return missing_.announce(*writer_, failure_.message());
  }));
  for (ProcessDrain& drain : drains_) drain.discard_from_now_on();
  if (on_failure_) on_failure_(failure_);
}

bool StoreSession::lock_within(std::chrono::milliseconds patience) {
  if (failed() || !begun_) return true;
  if (locked_out_since_ns_ == 0) locked_out_since_ns_ = read_clock_ns(CLOCK_MONOTONIC);
  if (!writer_->try_begin(patience)) return false;
  locked_out_since_ns_ = 0;
  return true;
}

bool StoreSession::lock() { return lock_within(std::chrono::milliseconds(0)); }

Status StoreSession::lock_at_end() {
  if (lock_within(kLastLockPatience)) return {};
  const std::int64_t lasted = read_clock_ns(CLOCK_MONOTONIC) - locked_out_since_ns_;
  return Status::error(ErrorKind::kBusy, output_.string() +
                                             ": another program kept it locked for the last " +
                                             std::to_string(lasted / 1'000'000'000) +
                                             " s; the events of that time are missing");
}

void StoreSession::unlock_if_unused() {
  if (!failed() && begun_) writer_->end_if_unused();
}

ProcessDrain& StoreSession::open_drain(const Region& region, ProcessId process,
                                       std::shared_ptr<RingBacklog> backlog) {
  ProcessDrain& drain =
      drains_.emplace_back(region, process, *writer_, clock_.map(), std::move(backlog));
  if (failed()) drain.discard_from_now_on();
  return drain;
}

bool StoreSession::flush_is_due() const {
  return read_clock_ns(CLOCK_MONOTONIC) - last_flush_ns_ >= kFlushPeriodNs;
}

Status StoreSession::check_place() {
  if (!place_.is_taken()) return {};
  place_.remove_logs();
  const std::filesystem::path now = place_.now();
  return Status::error(ErrorKind::kNotFound,
                       output_.string() + ": another file has taken its place; " +
                           (now.empty() ? std::string("what was recorded is lost")
                                        : "the last steps are missing from " + now.string()));
}

Status StoreSession::flush() {
  if (failed() || !begun_) return {};
  if (Status status = check_place(); !status.ok()) return status;
  last_flush_ns_ = read_clock_ns(CLOCK_MONOTONIC);
  const Status status = writer_->flush();
  if (status.ok()) events_flushed_ = events_seen();
  return status;
}

Status StoreSession::finish(const Meta& meta, SessionTime end) noexcept {
  claim_.reset();
  if (!begun_) return std::move(failure_);
  // Flushing is the last step that can lose events: after it, all are in the store.
  if (!failed()) attempt([this] { return flush(); });
  if (!failed()) attempt([&] { return store_end(meta, end); });
  if (failed()) static_cast<void>(contained([this] { return store_missing(); }));
  writer_.reset();
  return std::move(failure_);
}

void StoreSession::discard() {
  claim_.reset();
  if (writer_ != nullptr) writer_->discard();
  writer_.reset();
}

Status StoreSession::store_end(const Meta& meta, SessionTime end) {
  if (Status status = set_all_meta(*writer_, meta); !status.ok()) return status;
  if (Status status = writer_->set_meta("end_ns", std::to_string(to_ns(end))); !status.ok()) {
    return status;
  }
  return close();
}

// Closes the store. SQLite refuses to fold the log of a store that was moved, but it takes nothing
// more than that: the store is complete if the log was moved with it, or had been folded before.
Status StoreSession::close() {
  const std::filesystem::path place = place_.now();
  const Status status = writer_->finish();
  if (status.kind() != ErrorKind::kNotFound) return status;
  writer_.reset();
  if (place.empty()) {
    return Status::error(
        ErrorKind::kNotFound,
        output_.string() + ": was deleted, or moved to another disk, while it was being recorded");
  }
  if (!is_complete(place)) {
    return Status::error(ErrorKind::kIo, output_.string() +
                                             ": was moved without its log while it was being "
                                             "recorded, so the last steps may be missing");
  }
  path_ = place;
  return {};
}

// Counts the events that were rolled back, those still in the rings, and those that did not fit.
Status StoreSession::store_missing() {
  for (ProcessDrain& drain : drains_) {
    static_cast<void>(contained([&drain] { return drain.drain(); }));
  }
  writer_.reset();
  // After the database is closed, because SQLite may have made its log anew.
  if (Status status = check_place(); !status.ok()) return status;
  return missing_.store(unwritten(), failure_.message());
}

std::int64_t StoreSession::events_seen() const {
  std::int64_t seen = 0;
  for (const ProcessDrain& drain : drains_) seen += drain.totals().events();
  return seen;
}

}  // namespace stepscope
