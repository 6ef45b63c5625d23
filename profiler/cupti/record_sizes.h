// How long the records of the CUPTI in use are, and whether that is a CUPTI we know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "profiler/cupti/activity_records.h"

namespace stepscope {

// cuptiActivityGetNextRecord(), with plain types: 0 is success.
using NextRecord = int (*)(std::uint8_t* buffer, std::size_t valid_bytes, void** record);

// Asks the library: lets it walk from one made-up record to the next. Needs no GPU and no driver
// (from CUPTI 13.5 on a driver). The version of the library would not do: 11.8 and 12.1 call
// themselves alike, and their kernel records differ.
RecordSizes measure_record_sizes(NextRecord next_record);

// The first kind whose records are of a length that no CUPTI from 11.8 to 13.5 has, so that it is
// not known what is where in them; nothing when all are known.
struct UnknownRecord {
  const char* kind;     // "kernel", "peer copy"
  std::uint32_t bytes;  // 0: the library knows no such records
};
std::optional<UnknownRecord> find_unknown_record(const RecordSizes& sizes);

}  // namespace stepscope
