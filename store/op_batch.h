// A span of Ops as a table, so that one INSERT … SELECT moves it into the store. Internal to
// store/.
//
// Why: SQLite then compiles the insert once and runs it for all rows; bound row by row, most of the
// time goes into binding, resetting and starting the statement (bench/store has both).
//
// Two things in the statement matter (EXPLAIN shows them). The id is left out: given as NULL,
// SQLite looks for each new id whether it is taken. And the columns come in the order of the table,
// without a gap: otherwise each value is copied to its place. Hence op has its id last.
#pragma once

#include <span>

#include "store/events.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// The columns of op_batch, in this order, are those of `op` without id, then shapes_id (NULL:
// none). Its rowid counts from 0.
struct OpBatch {
  std::span<const Op> ops;  // what a SELECT on op_batch reads
};

// Makes the table-valued name `op_batch` known to this connection. `batch` outlives the connection.
Status register_op_batch(Database& database, OpBatch* batch);

}  // namespace stepscope
