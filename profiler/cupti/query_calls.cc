#include "profiler/cupti/query_calls.h"

#include <algorithm>

namespace stepscope {

bool is_query_call(std::string_view name) {
  // Asks the driver for the free memory, which takes long enough to matter in a loop.
  constexpr std::string_view kSlow = "MemGetInfo";
  constexpr std::string_view kQueries[] = {
      "Get",         "PeekAtLastError",  "Occupancy",     "DeviceTotalMem",
      "IsCapturing", "FuncSetAttribute", "cudaSetDevice_"};
  const auto contains = [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  return !contains(kSlow) && std::ranges::any_of(kQueries, contains);
}

}  // namespace stepscope
