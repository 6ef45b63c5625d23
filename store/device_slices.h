// What streams did as one list in time, each with the call that caused it: how a device is drawn.
// Internal to store/; TraceReader hands it out.
#pragma once

#include <functional>

#include "store/device_events.h"
#include "store/row_check.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// By start, the longer first. SQLite sorts, in temporary files where memory does not do. Until
// `visit` returns false. Refuses what row_check.h does not let pass.
Status scan_by_start(Database& database, const KnownIds& known,
                     const std::function<bool(const DeviceSlice&)>& visit);
Status scan_by_start(Database& database, const KnownIds& known,
                     const std::function<bool(const ApiCall&)>& visit);

}  // namespace stepscope
