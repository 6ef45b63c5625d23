#include "tests/store/testing/hostile_stores.h"

#include <cstdio>
#include <cstdlib>

#include "store/sqlite.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {
namespace {

// The view has infinitely many rows; sorting them would also need infinite memory.
#define STEPSCOPE_ENDLESS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "

constexpr HostileStore kStores[] = {
    {"thread_id", "UPDATE thread SET id = 4000000000 WHERE id = 2", "thread 4000000000"},
    {"thread_of_no_process", "UPDATE thread SET process_id = -7", "-7 as its process_id"},
    {"process_id", "UPDATE process SET id = 4000000000", "process 4000000000"},
    {"stream_id", "UPDATE stream SET id = 4000000000", "stream 4000000000"},
    {"stream_of_no_device", "UPDATE stream SET device_id = 9", "9 as its device_id"},
    {"device_id", "UPDATE device SET id = -1", "device -1"},
    {"device_of_no_process", "UPDATE device SET process_id = 77", "77 as its process_id"},
    {"string_id", "UPDATE string SET id = 4000000000 WHERE id = 2", "string 2 is missing"},
    {"op_thread", "UPDATE op SET thread_id = 4000000000 WHERE id = 3",
     "4000000000 as its thread_id"},
    {"op_name", "UPDATE op SET name_id = 4000000000 WHERE id = 3", "4000000000 as its name_id"},
    {"op_without_a_thread", "UPDATE op SET thread_id = NULL WHERE id = 3", "thread_id"},
    {"op_id", "UPDATE op SET id = 4000000000 WHERE id = (SELECT max(id) FROM op)", "4000000000"},
    {"op_missing", "DELETE FROM op WHERE id = 3", "op 4 follows row 2"},
    {"op_start", "UPDATE op SET start_ns = 9223372036854775807 WHERE id = 3", "start_ns"},
    {"op_dur", "UPDATE op SET dur_ns = -5 WHERE id = 3", "-5 as its dur_ns"},
    {"op_durations", "UPDATE op SET dur_ns = 1 << 60", "exceed the limit for the sum of dur_ns"},
    {"op_self", "UPDATE op SET self_ns = dur_ns + 1 WHERE id = 3", "self_ns"},
    {"op_phase", "UPDATE op SET phase = 10 WHERE id = 3", "10 as its phase"},
    {"op_scope", "UPDATE op SET scope = 300 WHERE id = 3", "300 as its scope"},
    {"op_depth", "UPDATE op SET depth = -1 WHERE id = 3", "-1 as its depth"},
    {"op_shapes", "INSERT INTO op_shapes VALUES (3, 4000000000)", "4000000000 as its shapes_id"},
    {"phase_kind", "UPDATE phase SET kind = 200 WHERE id = 2", "200 as its kind"},
    {"phase_thread", "UPDATE phase SET thread_id = 0 WHERE id = 2", "0 as its thread_id"},
    {"phase_cpu", "UPDATE phase SET cpu_ns = -1 WHERE id = 2", "-1 as its cpu_ns"},
    {"kernel_name", "UPDATE kernel SET name_id = 4000000000", "4000000000 as its name_id"},
    {"kernel_stream", "UPDATE kernel SET stream_id = 9", "9 as its stream_id"},
    {"kernel_grid", "UPDATE kernel SET grid_y = -1", "-1 as its grid"},
    {"kernel_missing", "DELETE FROM kernel WHERE id = 2", "kernel 3 follows row 1"},
    {"call_thread", "UPDATE api_call SET thread_id = 4000000000", "4000000000 as its thread_id"},
    {"call_correlation", "UPDATE api_call SET correlation = -1", "-1 as its correlation"},
    {"copy_kind", "UPDATE copy SET kind = 11", "11 as its kind"},
    {"copy_source", "UPDATE copy SET source = 8", "8 as its source"},
    {"copy_bytes", "UPDATE copy SET bytes = -1", "-1 as its bytes"},
    {"sample_counter", "UPDATE sample SET name_id = 4000000000", "4000000000 as its name_id"},
    {"sample_process", "UPDATE sample SET process_id = -3", "-3 as its process_id"},
    {"sample_value", "UPDATE sample SET value = 9223372036854775807", "as its value"},
    {"end_process", "UPDATE process_end SET process_id = 9", "9 as its process_id"},
    {"end_how", "UPDATE process_end SET how = 'vanished'", "ended in an unknown way"},
    {"unfinished_thread", "UPDATE unfinished_op SET thread_id = 12", "12 as its thread_id"},
    {"loss_count", "INSERT INTO loss VALUES (1, 'op', -4)", "-4 as its count"},
    {"loss_thread", "INSERT INTO loss VALUES (99, 'op', 4)", "99 as its thread_id"},
    {"meta_end", "INSERT OR REPLACE INTO meta VALUES ('end_ns', '-9223372036854775808')", "end_ns"},
    {"meta_overhead",
     "INSERT OR REPLACE INTO meta VALUES ('leaf_op_overhead_ns', '9223372036854775807')",
     "leaf_op_overhead_ns"},
    {"table_in_place_of_another",
     "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage ="
     " (SELECT rootpage FROM sqlite_schema WHERE name = 'op') WHERE name = 'step'",
     "step shares its pages with another table"},
    {"table_in_place_of_the_schema",
     "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'step'",
     "damaged"},
    {"table_is_an_endless_view",
     "DROP TABLE phase; CREATE VIEW phase AS " STEPSCOPE_ENDLESS
     "SELECT i AS id, 1 AS thread_id, 1 AS kind, 1 AS name_id, i AS start_ns, 1 AS dur_ns,"
     " 0 AS cpu_ns FROM n",
     "phase is not a table but a view"},
    {"strings_are_an_endless_view",
     "DROP TABLE string; CREATE VIEW string AS " STEPSCOPE_ENDLESS
     "SELECT i AS id, 'x' AS text FROM n",
     "string is not a table but a view"},
    {"table_is_virtual",
     "DROP TABLE loss; CREATE VIRTUAL TABLE loss USING fts5(thread_id, kind, count)",
     "loss is not a plain table"},
    {"table_is_generated",
     "DROP TABLE loss; CREATE TABLE loss (thread_id INTEGER, kind TEXT NOT NULL, count INTEGER"
     " NOT NULL GENERATED ALWAYS AS (length(zeroblob(100000000)))) STRICT",
     "loss has other columns"},
    {"frame_id_negative",
     "DELETE FROM stack_sample; DELETE FROM frame;"
     "INSERT INTO frame VALUES (-1, NULL, 1, 1, 5);"
     "INSERT INTO stack_sample VALUES (1, 1, 100, 1, 0, NULL)",
     "stack_sample 1 has 1 as its frame_id"},
    {"table_missing", "DROP TABLE sync", "no table sync"},
    {"another_column", "ALTER TABLE memset ADD COLUMN more INTEGER", "memset has other columns"},
    {"trigger", "CREATE TRIGGER t AFTER INSERT ON verdict BEGIN DELETE FROM op; END",
     "t is not a plain table"},
    // SQLite runs the SQL text, whatever the type column says.
    {"disguised_view",
     "DROP TABLE loss; PRAGMA writable_schema = ON;"
     "INSERT INTO sqlite_schema VALUES ('table', 'loss', 'loss', 2,"
     " 'CREATE VIEW loss AS SELECT 1 AS thread_id, 2 AS kind, 3 AS count')",
     "loss"},
    {"broken_schema",
     "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE op (' || sql"
     " WHERE name = 'op'",
     "damaged"},
};

#undef STEPSCOPE_ENDLESS

[[noreturn]] void give_up(const char* sql, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", sql, status.message().c_str());
  std::abort();
}

}  // namespace

std::span<const HostileStore> hostile_stores() { return kStores; }

void make_hostile_store(const std::filesystem::path& path, const char* sql) {
  make_store(path, {.steps = 8, .killed_by = 9, .samples = true, .device = true},
             /*analysed=*/true);
  auto database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database.ok()) give_up(sql, database.status());
  if (Status status = database->exec(sql); !status.ok()) give_up(sql, status);
}

}  // namespace stepscope::testing
