#include "store/process_rows.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "store/table_rows.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

// The value of ProcessEnd::code if it is unknown; NULL in the store.
std::int64_t unknown_code(EndKind how) { return how == EndKind::kExit ? -1 : 0; }

EndKind end_of_name(const std::string& name, RowCheck& check) {
  for (const EndKind kind : {EndKind::kExit, EndKind::kSignal, EndKind::kReplaced}) {
    if (name == end_name(kind)) return kind;
  }
  check.fail("ended in an unknown way");
  return EndKind::kExit;
}

StoredProcess process_of(const Statement& row, RowCheck& check) {
  check.next_entity(row.integer(0));
  StoredProcess process;
  process.id = static_cast<ProcessId>(row.integer(0));
  process.pid = check.any_integer(row.value(1), "pid");
  process.name = check.name(row.text(2));
  process.command = check.name(row.text(3));
  process.parent_pid = check.any_integer_or(row.value(4), "parent_pid", 0);
  process.rank = check.integer_or(row.value(5), "rank", -1, -1, kLargestNumber);
  return process;
}

StoredThread thread_of(const Statement& row, RowCheck& check) {
  check.next_entity(row.integer(0));
  StoredThread thread;
  thread.id = static_cast<ThreadId>(row.integer(0));
  thread.process = check.process(row.value(1));
  thread.tid = check.any_integer(row.value(2), "tid");
  thread.torch_id =
      static_cast<std::uint32_t>(check.integer_or(row.value(3), "torch_id", 0, 0, UINT32_MAX));
  thread.name = check.name(row.text(4));
  return thread;
}

ProcessEnd process_end_of(const Statement& row, RowCheck& check) {
  constexpr std::int64_t kLargestCode = std::numeric_limits<std::int32_t>::max();
  check.any_row(row.integer(0));
  ProcessEnd end;
  end.process = check.process(row.value(0));
  end.how = end_of_name(row.text(1), check);
  end.code =
      check.integer_or(row.value(2), "code", unknown_code(end.how), -kLargestCode, kLargestCode);
  end.at = check.time(row.value(3), "at_ns");
  end.step = check.integer_or(row.value(4), "step", 0, 0, kLargestValue);
  end.out_of_memory = check.flag(row.value(5), "out_of_memory");
  return end;
}

Sample sample_of(const Statement& row, RowCheck& check) {
  check.any_row(row.integer(5));
  Sample sample;
  sample.process = check.process_or_none(row.value(0));
  sample.counter = check.string(row.value(1));
  sample.at = check.time(row.value(2), "at_ns");
  sample.value = check.integer(row.value(3), "value", -kLargestValue, kLargestValue);
  sample.gpu = check.integer_or(row.value(4), "gpu", -1, -1, kLargestUnsigned);
  return sample;
}

UnfinishedOp unfinished_op_of(const Statement& row, RowCheck& check) {
  check.any_row(row.integer(5));
  UnfinishedOp op;
  op.thread = check.thread(row.value(0));
  op.name = check.string(row.value(1));
  op.start = check.time(row.value(2));
  op.phase = check.kind(row.value(3), "phase", kLastPhaseOfOps);
  op.depth = static_cast<std::uint8_t>(check.integer(row.value(4), "depth", 0, UINT8_MAX));
  return op;
}

}  // namespace

Status ProcessWriter::prepare(Database& database) {
  const StatementText statements[] = {
      {&process_, "INSERT INTO process VALUES (NULL, ?1, ?2, ?3, ?4, ?5)"},
      {&thread_, "INSERT INTO thread VALUES (NULL, ?1, ?2, ?3, ?4)"},
      {&update_thread_,
       "UPDATE thread SET process_id = ?1, tid = ?2, torch_id = ?3, name = ?4 WHERE id = ?5"},
      {&end_, "INSERT OR REPLACE INTO process_end VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
      {&unfinished_, "INSERT INTO unfinished_op VALUES (NULL, ?1, ?2, ?3, ?4, ?5)"},
      {&sample_, "INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5)"}};
  return prepare_all(database, statements);
}

Status ProcessWriter::add(const Process& process) {
  const std::string name = clean_utf8(process.name);
  const std::string command = clean_utf8(process.command);
  return process_.run(process.pid, std::string_view(name), std::string_view(command),
                      unless(process.parent_pid, 0), unless(process.rank, -1));
}

Status ProcessWriter::add(const Thread& thread) {
  const std::string name = clean_utf8(thread.name);
  return thread_.run(static_cast<std::int64_t>(thread.process), thread.tid,
                     nullable(thread.torch_id), std::string_view(name));
}

Status ProcessWriter::update(ThreadId id, const Thread& thread) {
  const std::string name = clean_utf8(thread.name);
  return update_thread_.run(static_cast<std::int64_t>(thread.process), thread.tid,
                            nullable(thread.torch_id), std::string_view(name),
                            static_cast<std::int64_t>(id));
}

Status ProcessWriter::add(const ProcessEnd& end) {
  return end_.run(static_cast<std::int64_t>(end.process), std::string_view(end_name(end.how)),
                  unless(end.code, unknown_code(end.how)), to_ns(end.at), unless(end.step, 0),
                  std::int64_t{end.out_of_memory});
}

Status ProcessWriter::add(const UnfinishedOp& op) {
  return unfinished_.run(static_cast<std::int64_t>(op.thread), nullable(op.name), to_ns(op.start),
                         static_cast<std::int64_t>(op.phase), std::int64_t{op.depth});
}

Status ProcessWriter::add(const Sample& sample) {
  return sample_.run(nullable(sample.process), static_cast<std::int64_t>(sample.counter),
                     to_ns(sample.at), sample.value, unless(sample.gpu, -1));
}

Result<std::vector<StoredProcess>> read_processes(Database& database) {
  return read_rows(database, KnownIds(), "process",
                   "SELECT id, pid, name, command, parent_pid, rank FROM process ORDER BY id",
                   process_of);
}

Result<std::vector<StoredThread>> read_threads(Database& database, const KnownIds& known) {
  return read_rows(database, known, "thread",
                   "SELECT id, process_id, tid, torch_id, name FROM thread ORDER BY id", thread_of);
}

Result<std::vector<ProcessEnd>> read_process_ends(Database& database, const KnownIds& known) {
  return read_rows(database, known, "process_end",
                   "SELECT process_id, how, code, at_ns, step, out_of_memory FROM process_end"
                   " ORDER BY process_id",
                   process_end_of);
}

Result<std::vector<UnfinishedOp>> read_unfinished_ops(Database& database, const KnownIds& known) {
  return read_rows(database, known, "unfinished_op",
                   "SELECT thread_id, name_id, start_ns, phase, depth, id FROM unfinished_op"
                   " ORDER BY thread_id, depth, id",
                   unfinished_op_of);
}

Status scan_samples(Database& database, const KnownIds& known,
                    const std::function<bool(const Sample&)>& visit, std::int64_t after) {
  RowCheck check("sample", known);
  Result<Statement> rows = database.prepare(
      "SELECT process_id, name_id, at_ns, value, gpu, rowid FROM sample WHERE rowid > ?1"
      " ORDER BY rowid");
  if (!rows.ok()) return rows.status();
  rows->bind(1, after);
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    const Sample sample = sample_of(*rows, check);
    if (!check.ok()) return check.status(database);
    if (!visit(sample)) return {};
  }
}

}  // namespace stepscope
