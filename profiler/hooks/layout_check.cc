#include "profiler/hooks/layout_check.h"

#include <ATen/record_function.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace stepscope {
namespace {

constexpr const char* kName = "stepscope: layout check";
constexpr std::int64_t kSequence = 0x5354'4550'5343;  // unlikely to be anywhere by chance

// What the callback read, with the offsets of our headers.
struct Reading {
  bool is_complete = false;  // everything but the handle, which is not known in advance
  at::RecordFunctionHandle handle = 0;
};

thread_local Reading reading;

bool has_the_known_contents(const at::RecordFunction& fn) {
  return std::strcmp(fn.name(), kName) == 0 && fn.seqNr() == kSequence &&
         fn.scope() == at::RecordScope::USER_SCOPE &&
         fn.threadId() == at::RecordFunction::currentThreadId() && fn.forwardThreadId() == 0 &&
         fn.inputs().data() == nullptr && fn.inputs().empty();
}

std::unique_ptr<at::ObserverContext> read(const at::RecordFunction& fn) {
  reading = {has_the_known_contents(fn), fn.handle()};
  return nullptr;
}

// libtorch's functions fill in the object, whatever size it has there: hence the larger buffer.
// What they do not write keeps a value that no check accepts.
Reading read_a_scope_of_libtorch() {
  alignas(64) std::array<std::byte, 4096> buffer;
  buffer.fill(std::byte{0xa5});
  reading = {};
  auto* fn = new (buffer.data()) at::RecordFunction(at::RecordScope::USER_SCOPE);
  fn->before(kName, kSequence);
  fn->~RecordFunction();
  return reading;
}

// Call while the thread has a callback.
bool thread_callbacks_are_read_right() {
  const at::RecordFunctionTLS& tls = at::get_record_function_tls_();
  // As a byte: with another layout, it may hold no valid bool.
  const auto enabled = [&] {
    std::uint8_t byte;
    std::memcpy(&byte, &tls.tls_record_function_enabled_, sizeof(byte));
    return byte;
  };
  if (tls.sorted_tls_callbacks_.empty() || enabled() != 1) return false;
  const at::RecordFunctionGuard disabled(false);
  return enabled() == 0;
}

}  // namespace

bool libtorch_has_the_compiled_layout() noexcept try {
  const at::RecordFunctionGuard enabled(true);  // the program may have disabled it on this thread
  const at::CallbackHandle callback = at::addThreadLocalCallback(
      at::RecordFunctionCallback(read).scopes({at::RecordScope::USER_SCOPE}).needsIds(true));
  const Reading first = read_a_scope_of_libtorch();
  const Reading second = read_a_scope_of_libtorch();
  const bool callbacks = thread_callbacks_are_read_right();
  at::removeCallback(callback);
  // libtorch counts handles up from 1.
  constexpr at::RecordFunctionHandle kMax = std::uint64_t{1} << 56;
  const bool handles = 0 < first.handle && first.handle < second.handle && second.handle < kMax;
  return first.is_complete && second.is_complete && handles && callbacks;
} catch (...) {
  return false;
}

}  // namespace stepscope
