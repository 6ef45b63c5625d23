// The header-free layer: avoids the cost that callbacks cause inside libtorch.
//
// Whenever libtorch sets the callback state of a thread, it looks up all callbacks again for each
// of its ten kinds of scope, with an allocation for each kind that has one. It does so twice for
// each node of a backward pass, although the thread usually has the same state already. For a
// training with small ops, this is a third of the cost of recording ops. While ops are recorded,
// calls that would change nothing are skipped; otherwise every call goes through.
#include "profiler/preload/original.h"
#include "profiler/session/session.h"
#include "stepscope/c_api.h"

// at::set_record_function_tls_(const at::RecordFunctionTLS&)
#define STEPSCOPE_SET_RECORD_FUNCTION_TLS \
  "_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE"

namespace {

using Set = void (*)(const void* record_function_tls);
constinit stepscope::Original original(STEPSCOPE_SET_RECORD_FUNCTION_TLS);

// Not inlined, so that steps without ops save no registers.
[[gnu::noinline]] void set_if_it_changes(const void* record_function_tls, const void* caller) {
  const auto set = reinterpret_cast<Set>(original.get(caller));
  if (!stepscope::Session::get().is_current_tls(record_function_tls)) set(record_function_tls);
}

}  // namespace

extern "C" STEPSCOPE_API void stepscope_set_record_function_tls(const void*) __asm__(
    STEPSCOPE_SET_RECORD_FUNCTION_TLS);
extern "C" STEPSCOPE_HOT void stepscope_set_record_function_tls(const void* record_function_tls) {
  const void* const caller = __builtin_return_address(0);
  const auto set = reinterpret_cast<Set>(original.known(caller));
  if (set != nullptr && !stepscope::Session::exists_and_records_ops()) [[likely]]
    return set(record_function_tls);
  set_if_it_changes(record_function_tls, caller);
}
