// What all streams did as one list, ordered by time, for drawing devices. Each activity has the
// call that caused it. Internal to store/; TraceReader provides access.
#pragma once

#include <functional>

#include "store/device_events.h"
#include "store/row_check.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// By start, the longer first, until `visit` returns false. SQLite sorts the rows, in temporary
// files if memory does not suffice. Refuses rows that row_check.h rejects.
Status scan_by_start(Database& database, const KnownIds& known,
                     const std::function<bool(const DeviceSlice&)>& visit);
Status scan_by_start(Database& database, const KnownIds& known,
                     const std::function<bool(const ApiCall&)>& visit);

}  // namespace stepscope
