// A count with its noun, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope {

// "1 process", "2 processes".
inline std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count).append(1, ' ').append(count == 1 ? one : many);
}

// "1 op", "2 ops".
inline std::string counted(std::int64_t count, std::string_view one) {
  return counted(count, one, std::string(one) + "s");
}

}  // namespace stepscope
