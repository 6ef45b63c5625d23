// Writes and reads the analysis as rows, for TraceWriter and TraceReader. Internal to store/.
#pragma once

#include "store/analysis.h"
#include "store/row_check.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// Replaces the analysis within the open transaction and adds the indexes that the views use.
Status write_analysis(Database& database, const Analysis& analysis);

// Refuses rows that row_check.h rejects.
Result<Analysis> read_analysis(Database& database, const KnownIds& known);

}  // namespace stepscope
