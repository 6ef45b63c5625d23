#include "store/thread_rows.h"

#include <string_view>
#include <utility>

#include "store/limits.h"
#include "store/rows.h"
#include "store/table_rows.h"
#include "store/utf8.h"

namespace stepscope {

Status ThreadWriter::prepare(Database& database) {
  const StatementText statements[] = {
      {&stretch_, "INSERT INTO thread_stretch VALUES (NULL, ?1, ?2, ?3, ?4, ?5)"},
      {&thread_, "INSERT INTO watched_thread VALUES (NULL, ?1, ?2, ?3, ?4)"},
      {&reading_, "INSERT INTO thread_reading VALUES (NULL, ?1, ?2, ?3, ?4, ?5)"},
      {&frame_, "INSERT INTO frame VALUES (NULL, ?1, ?2, ?3, ?4)"},
      {&sample_, "INSERT INTO stack_sample VALUES (NULL, ?1, ?2, ?3, ?4, ?5)"},
      {&native_, "INSERT INTO native_sample VALUES (NULL, ?1, ?2, ?3)"},
      {&module_, "INSERT INTO module_call VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"}};
  return prepare_all(database, statements);
}

Status ThreadWriter::add(const ThreadStretch& stretch) {
  return stretch_.run(static_cast<std::int64_t>(stretch.thread), to_ns(stretch.start),
                      to_ns(stretch.dur), to_ns(stretch.run), to_ns(stretch.starved));
}

Status ThreadWriter::add(const WatchedThread& thread) {
  const std::string name = clean_utf8(thread.name);
  return thread_.run(static_cast<std::int64_t>(thread.process), thread.pid, thread.tid,
                     std::string_view(name));
}

Status ThreadWriter::add(const ThreadReading& reading) {
  return reading_.run(static_cast<std::int64_t>(reading.thread), to_ns(reading.at),
                      to_ns(reading.run), to_ns(reading.starved), nullable(reading.cores));
}

Status ThreadWriter::add(const StackFrame& frame) {
  return frame_.run(nullable(frame.caller), static_cast<std::int64_t>(frame.function),
                    static_cast<std::int64_t>(frame.file), nullable(frame.line));
}

Status ThreadWriter::add(const StackSample& sample) {
  return sample_.run(static_cast<std::int64_t>(sample.thread), to_ns(sample.at),
                     static_cast<std::int64_t>(sample.frame), std::int64_t{sample.awaited},
                     nullable(sample.blocked));
}

Status ThreadWriter::add(const NativeSample& sample) {
  return native_.run(static_cast<std::int64_t>(sample.thread), to_ns(sample.at),
                     static_cast<std::int64_t>(sample.library));
}

Status ThreadWriter::add(const ModuleCall& call) {
  return module_.run(static_cast<std::int64_t>(call.thread), nullable(call.root),
                     nullable(call.name), nullable(call.class_name), to_ns(call.start),
                     to_ns(call.dur), static_cast<std::int64_t>(call.phase),
                     std::int64_t{call.depth}, call.held_bytes);
}

Result<std::vector<StoredWatchedThread>> read_watched_threads(Database& database,
                                                              const KnownIds& known) {
  std::vector<StoredWatchedThread> threads;
  RowCheck check("watched_thread", known);
  const Status status = for_each_row(
      database, "SELECT id, process_id, pid, tid, name FROM watched_thread ORDER BY id",
      [&](const Statement& row) {
        check.next_entity(row.integer(0));
        StoredWatchedThread thread;
        thread.id = static_cast<WatchedThreadId>(row.integer(0));
        thread.process = check.process(row.value(1));
        thread.pid = check.any_integer(row.value(2), "pid");
        thread.tid = check.any_integer(row.value(3), "tid");
        thread.name = check.name(row.text(4));
        threads.push_back(std::move(thread));
        return check.ok() ? Status() : check.status(database);
      });
  if (!status.ok()) return status;
  return threads;
}

Status scan_stretches(Database& database, const KnownIds& known,
                      const std::function<void(const ThreadStretch&)>& visit, std::int64_t after) {
  RowCheck check("thread_stretch", known, after);
  return for_each_row(
      database,
      "SELECT thread_id, start_ns, dur_ns, run_ns, starved_ns, id FROM thread_stretch WHERE id > " +
          std::to_string(after) + " ORDER BY id",
      [&](const Statement& row) {
        check.next_row(row.integer(5));
        ThreadStretch stretch;
        stretch.thread = check.thread(row.value(0));
        stretch.start = check.time(row.value(1));
        stretch.dur = check.duration(row.value(2));
        stretch.run = Duration(check.integer(row.value(3), "run_ns", 0, kFarthestNs));
        stretch.starved = Duration(check.integer(row.value(4), "starved_ns", 0, kFarthestNs));
        if (!check.ok()) return check.status(database);
        visit(stretch);
        return Status();
      });
}

Status scan_thread_readings(Database& database, const KnownIds& known, std::int64_t threads,
                            const std::function<void(const ThreadReading&)>& visit,
                            std::int64_t after) {
  RowCheck check("thread_reading", known, after);
  return for_each_row(
      database,
      "SELECT watched_thread_id, at_ns, run_ns, starved_ns, cores, id FROM thread_reading"
      " WHERE id > " +
          std::to_string(after) + " ORDER BY id",
      [&](const Statement& row) {
        check.next_row(row.integer(5));
        ThreadReading reading;
        reading.thread = static_cast<WatchedThreadId>(
            check.integer(row.value(0), "watched_thread_id", 1, threads));
        reading.at = check.time(row.value(1), "at_ns");
        reading.run = Duration(check.integer(row.value(2), "run_ns", 0, kLargestValue));
        reading.starved = Duration(check.integer(row.value(3), "starved_ns", 0, kLargestValue));
        reading.cores = check.integer_or(row.value(4), "cores", 0, 0, kLargestNumber);
        if (!check.ok()) return check.status(database);
        visit(reading);
        return Status();
      });
}

Result<std::vector<StackFrame>> read_frames(Database& database, const KnownIds& known,
                                            std::int64_t after) {
  std::vector<StackFrame> frames;
  RowCheck check("frame", known, after);
  const Status status = for_each_row(
      database,
      "SELECT caller_id, function_id, file_id, line, id FROM frame WHERE id > " +
          std::to_string(after) + " ORDER BY id",
      [&](const Statement& row) {
        const std::int64_t id = row.integer(4);
        check.next_entity(id);
        StackFrame frame;
        frame.caller =
            static_cast<FrameId>(check.integer_or(row.value(0), "caller_id", 0, 1, id - 1));
        frame.function = check.string(row.value(1));
        frame.file = check.string(row.value(2));
        frame.line = check.integer_or(row.value(3), "line", 0, 0, kLargestNumber);
        frames.push_back(frame);
        return check.ok() ? Status() : check.status(database);
      });
  if (!status.ok()) return status;
  return frames;
}

Status scan_stack_samples(Database& database, const KnownIds& known, std::int64_t threads,
                          std::int64_t frames, const std::function<void(const StackSample&)>& visit,
                          std::int64_t after) {
  RowCheck check("stack_sample", known, after);
  return for_each_row(
      database,
      "SELECT watched_thread_id, at_ns, frame_id, awaited, blocked_id, id FROM stack_sample"
      " WHERE id > " +
          std::to_string(after) + " ORDER BY id",
      [&](const Statement& row) {
        check.next_row(row.integer(5));
        StackSample sample;
        sample.thread = static_cast<WatchedThreadId>(
            check.integer(row.value(0), "watched_thread_id", 1, threads));
        sample.at = check.time(row.value(1), "at_ns");
        sample.frame = static_cast<FrameId>(check.integer(row.value(2), "frame_id", 1, frames));
        sample.awaited = check.integer(row.value(3), "awaited", 0, 1) != 0;
        sample.blocked = check.string(row.value(4));
        if (!check.ok()) return check.status(database);
        visit(sample);
        return Status();
      });
}

Status scan_native_samples(Database& database, const KnownIds& known, std::int64_t threads,
                           const std::function<void(const NativeSample&)>& visit,
                           std::int64_t after) {
  RowCheck check("native_sample", known, after);
  return for_each_row(
      database,
      "SELECT watched_thread_id, at_ns, library_id, id FROM native_sample WHERE id > " +
          std::to_string(after) + " ORDER BY id",
      [&](const Statement& row) {
        check.next_row(row.integer(3));
        NativeSample sample;
        sample.thread = static_cast<WatchedThreadId>(
            check.integer(row.value(0), "watched_thread_id", 1, threads));
        sample.at = check.time(row.value(1), "at_ns");
        sample.library = check.string(row.value(2), "library_id");
        if (!check.ok()) return check.status(database);
        visit(sample);
        return Status();
      });
}

Status scan_module_calls(Database& database, const KnownIds& known,
                         const std::function<void(const ModuleCall&)>& visit, std::int64_t after) {
  RowCheck check("module_call", known, after);
  return for_each_row(
      database,
      "SELECT thread_id, root_id, name_id, class_id, start_ns, dur_ns, phase, depth, held_bytes, id"
      " FROM module_call WHERE id > " +
          std::to_string(after) + " ORDER BY id",
      [&](const Statement& row) {
        check.next_row(row.integer(9));
        ModuleCall call;
        call.thread = check.thread(row.value(0));
        call.root = check.string(row.value(1), "root_id");
        call.name = check.string(row.value(2));
        call.class_name = check.string(row.value(3), "class_id");
        call.start = check.time(row.value(4));
        call.dur = check.duration(row.value(5));
        call.phase = check.kind(row.value(6), "phase", kLastPhaseOfOps);
        call.depth = static_cast<std::uint8_t>(check.integer(row.value(7), "depth", 0, 255));
        constexpr std::int64_t kNone = kMaxHeldBytes + 1;
        const std::int64_t held =
            check.integer_or(row.value(8), "held_bytes", kNone, -kMaxHeldBytes, kMaxHeldBytes);
        if (held != kNone) call.held_bytes = held;
        if (!check.ok()) return check.status(database);
        visit(call);
        return Status();
      });
}

}  // namespace stepscope
