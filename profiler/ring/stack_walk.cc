#include "profiler/ring/stack_walk.h"

#include <unwind.h>

namespace stepscope {
namespace {

struct Walk {
  std::span<std::uint64_t> addresses;
  std::uint32_t count = 0;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  int before_instruction = 0;
  const std::uint64_t address = _Unwind_GetIPInfo(context, &before_instruction);
  if (address == 0 || walk.count == walk.addresses.size()) return _URC_END_OF_STACK;
  // A return address may already belong to the next line, or to the next function.
  walk.addresses[walk.count++] = before_instruction != 0 ? address : address - 1;
  return _URC_NO_REASON;
}

}  // namespace

std::uint32_t walk_stack(std::span<std::uint64_t> addresses) noexcept {
  Walk walk{addresses};
  _Unwind_Backtrace(add_frame, &walk);
  return walk.count;
}

}  // namespace stepscope
