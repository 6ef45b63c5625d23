// Device events as rows. Internal to store/.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "store/device_events.h"
#include "store/row_check.h"
#include "store/sqlite.h"
#include "store/status.h"
#include "store/trace_reader.h"

namespace stepscope {

// Thread safety: that of the database.
class DeviceWriter {
 public:
  Status prepare(Database& database);

  // All of these write within the open transaction.
  Status add(const Device& device);
  Status update(DeviceId id, const Device& device);
  Status add(const Stream& stream);
  Status add(const ApiCall& call);
  Status add(const Kernel& kernel);
  Status add(const Copy& copy);
  Status add(const Memset& memset);
  Status add(const Sync& sync);

 private:
  Statement device_, update_device_, stream_, call_, kernel_, copy_, memset_, sync_;
};

// Each refuses rows that row_check.h rejects. `known`: the ids that rows may refer to.
Result<std::vector<StoredDevice>> read_devices(Database& database, const KnownIds& known);
Result<std::vector<StoredStream>> read_streams(Database& database, const KnownIds& known);

// The rows after id `after`, by id, which is the order of recording.
Status scan(Database& database, const KnownIds& known,
            const std::function<void(const ApiCall&)>& visit, std::int64_t after = 0);
Status scan(Database& database, const KnownIds& known,
            const std::function<void(const Kernel&)>& visit, std::int64_t after = 0);
Status scan(Database& database, const KnownIds& known,
            const std::function<void(const Copy&)>& visit, std::int64_t after = 0);
Status scan(Database& database, const KnownIds& known,
            const std::function<void(const Memset&)>& visit, std::int64_t after = 0);
Status scan(Database& database, const KnownIds& known,
            const std::function<void(const Sync&)>& visit, std::int64_t after = 0);

}  // namespace stepscope
