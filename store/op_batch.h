// A span of Ops as a table, so that one INSERT … SELECT moves it into the store. Internal to
// store/.
//
// Why: SQLite then compiles the insert once and runs it for all rows. When rows are bound one by
// one, most of the time goes into binding, resetting and starting the statement (bench/store
// measures both).
//
// Two things in the statement matter (EXPLAIN shows them). The id is left out: if it were given as
// NULL, SQLite would check for each new id whether it is taken. And the columns are in the order of
// the table, without a gap: otherwise SQLite copies each value to its place. That is why op has its
// id last.
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

// Registers the virtual table `op_batch` with this connection. `batch` must outlive the connection.
Status register_op_batch(Database& database, OpBatch* batch);

}  // namespace stepscope
