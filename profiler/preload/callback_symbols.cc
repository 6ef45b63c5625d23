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

extern "C" STEPSCOPE_API void stepscope_set_record_function_tls(const void*) __asm__(
    STEPSCOPE_SET_RECORD_FUNCTION_TLS);
extern "C" void stepscope_set_record_function_tls(const void* record_function_tls) {
  static constinit stepscope::Original original(STEPSCOPE_SET_RECORD_FUNCTION_TLS);
  const auto set =
      reinterpret_cast<void (*)(const void*)>(original.get(__builtin_return_address(0)));
  if (stepscope::Session::get().is_current_tls(record_function_tls)) return;
  set(record_function_tls);
}
