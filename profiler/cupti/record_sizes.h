// The record lengths of the CUPTI in use, and whether that CUPTI is supported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "profiler/cupti/activity_records.h"

namespace stepscope {

// cuptiActivityGetNextRecord(), with plain types: 0 is success.
using NextRecord = int (*)(std::uint8_t* buffer, std::size_t valid_bytes, void** record);

// Measures the lengths by letting the library step from one made-up record to the next. Needs no
// GPU and, before CUPTI 13.5, no driver. The version of the library is not enough: 11.8 and 12.1
// report the same version, but their kernel records differ.
RecordSizes measure_record_sizes(NextRecord next_record);

// The first kind whose record length occurs in no CUPTI from 11.8 to 13.5, so its layout is
// unknown; nothing if all are known.
struct UnknownRecord {
  const char* kind;     // "kernel", "peer copy"
  std::uint32_t bytes;  // 0: the library has no such records
};
std::optional<UnknownRecord> find_unknown_record(const RecordSizes& sizes);

}  // namespace stepscope
