// What a Kineto trace says about the run besides its events: clock, devices, rank, host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "store/device_events.h"

namespace stepscope {

struct KinetoHeader {
  std::optional<std::int64_t>
      base_ns;                       // baseTimeNanoseconds: since 1970, what times are relative to
  bool display_unit = false;         // displayTimeUnit is there: since 2024
  bool exported = false;             // by Stepscope: otherData says so
  std::optional<std::int64_t> rank;  // distributedInfo
  std::string host;
  std::string trace_id;  // of this profile; ranks that are profiled on demand may share it
  std::map<std::int64_t, Device> devices;  // by number; their process is not known here

  // A member of the document besides the events; key and value as written. Unknown or malformed
  // members are ignored.
  void take(std::string_view key, std::string_view value);
};

}  // namespace stepscope
