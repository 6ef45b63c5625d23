#include "store/process_rows.h"

#include <string>
#include <string_view>
#include <utility>

#include "store/rows.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

// What ProcessEnd::code is when it is not known; NULL in the store.
std::int64_t unknown_code(EndKind how) { return how == EndKind::kExit ? -1 : 0; }

EndKind end_of_name(const std::string& name) {
  for (const EndKind kind : {EndKind::kExit, EndKind::kSignal, EndKind::kReplaced}) {
    if (name == end_name(kind)) return kind;
  }
  return EndKind::kExit;
}

ProcessEnd process_end_of(const Statement& row) {
  ProcessEnd end;
  end.process = static_cast<ProcessId>(row.integer(0));
  end.how = end_of_name(row.text(1));
  end.code = row.integer_or(2, unknown_code(end.how));
  end.at = session_time(row.integer(3));
  end.step = row.integer_or(4, 0);
  end.out_of_memory = row.integer(5) != 0;
  return end;
}

Sample sample_of(const Statement& row) {
  return {static_cast<ProcessId>(row.integer_or(0, 0)), static_cast<StringId>(row.integer(1)),
          session_time(row.integer(2)), row.integer(3), row.integer_or(4, -1)};
}

}  // namespace

Status ProcessWriter::prepare(Database& database) {
  const std::pair<Statement*, const char*> statements[] = {
      {&process_, "INSERT INTO process VALUES (NULL, ?1, ?2, ?3, ?4, ?5)"},
      {&end_, "INSERT OR REPLACE INTO process_end VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
      {&unfinished_, "INSERT INTO unfinished_op VALUES (NULL, ?1, ?2, ?3, ?4, ?5)"},
      {&sample_, "INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5)"}};
  for (const auto& [statement, sql] : statements) {
    Result<Statement> prepared = database.prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = std::move(*prepared);
  }
  return {};
}

Status ProcessWriter::add(const Process& process) {
  const std::string name = clean_utf8(process.name);
  const std::string command = clean_utf8(process.command);
  return process_.run(process.pid, std::string_view(name), std::string_view(command),
                      unless(process.parent_pid, 0), unless(process.rank, -1));
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
  std::vector<StoredProcess> processes;
  const Status status = for_each_row(
      database, "SELECT id, pid, name, command, parent_pid, rank FROM process ORDER BY id",
      [&](const Statement& row) {
        processes.push_back({{row.integer(1), row.text(2), row.text(3), row.integer_or(4, 0),
                              row.integer_or(5, -1)},
                             static_cast<ProcessId>(row.integer(0))});
      });
  if (!status.ok()) return status;
  return processes;
}

Result<std::vector<ProcessEnd>> read_process_ends(Database& database) {
  std::vector<ProcessEnd> ends;
  const Status status =
      for_each_row(database,
                   "SELECT process_id, how, code, at_ns, step, out_of_memory FROM process_end"
                   " ORDER BY process_id",
                   [&](const Statement& row) { ends.push_back(process_end_of(row)); });
  if (!status.ok()) return status;
  return ends;
}

Result<std::vector<UnfinishedOp>> read_unfinished_ops(Database& database) {
  std::vector<UnfinishedOp> ops;
  const Status status = for_each_row(
      database,
      "SELECT thread_id, name_id, start_ns, phase, depth FROM unfinished_op"
      " ORDER BY thread_id, depth, id",
      [&](const Statement& row) {
        ops.push_back({static_cast<ThreadId>(row.integer(0)),
                       static_cast<StringId>(row.integer_or(1, 0)), session_time(row.integer(2)),
                       static_cast<PhaseKind>(row.integer(3)),
                       static_cast<std::uint8_t>(row.integer(4))});
      });
  if (!status.ok()) return status;
  return ops;
}

Status scan_samples(Database& database, const std::function<bool(const Sample&)>& visit,
                    std::int64_t after) {
  Result<Statement> rows = database.prepare(
      "SELECT process_id, name_id, at_ns, value, gpu FROM sample WHERE rowid > ?1 ORDER BY rowid");
  if (!rows.ok()) return rows.status();
  rows->bind(1, after);
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row || !visit(sample_of(*rows))) return {};
  }
}

}  // namespace stepscope
