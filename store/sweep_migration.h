// Sweeps of older schemas. Internal to store/.
#pragma once

#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// Checks the tables of a sweep and brings them to the schema of this Stepscope. Errors: kBadInput
// (damaged, or of a newer schema).
Status bring_sweep_up_to_date(Database& database);

}  // namespace stepscope
