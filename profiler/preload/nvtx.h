// The part of NVTX's tool interface that is used, with its numbers; see nvtx.cc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/visibility.h"

namespace stepscope::nvtx {

using Function = void (*)();

// NvtxCallbackModule.
enum class Module { kCore = 1, kCore2 = 5 };

// NvtxCallbackIdCore and NvtxCallbackIdCore2: indices into the modules' tables.
inline constexpr unsigned kRangePushEx = 8;
inline constexpr unsigned kRangePushA = 9;
inline constexpr unsigned kRangePop = 11;
inline constexpr unsigned kDomainRangePushEx = 4;
inline constexpr unsigned kDomainRangePop = 5;
inline constexpr unsigned kDomainRegisterStringA = 10;
inline constexpr unsigned kDomainCreateA = 12;

// NvtxExportTableID and its table.
inline constexpr std::uint32_t kCallbacks = 1;
struct ExportTableCallbacks {
  std::size_t struct_size;
  // Returns 0 if the module does not exist. `table` has `size` pointers to the functions to fill
  // in.
  int (*get_module_function_table)(int module, Function*** table, unsigned* size);
};
using GetExportTable = const void* (*)(std::uint32_t id);

// The part of nvtxEventAttributes_t that is read.
struct EventAttributes {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t unused[3];
  std::uint32_t unused_payload_type[2];
  std::uint64_t unused_payload;
  std::int32_t message_type;
  const char* message;  // for a registered string: the handle returned by its registration
};
inline constexpr std::int32_t kAsciiMessage = 1;
inline constexpr std::int32_t kRegisteredMessage = 3;

inline constexpr int kNoPushPopTracking = -2;  // NVTX_NO_PUSH_POP_TRACKING

// Fills NVTX's tables. Returns false if it has no known table.
STEPSCOPE_INTERNAL bool inject(GetExportTable get_export_table);

}  // namespace stepscope::nvtx
