// The interface of a hook library to libstepscope, without libtorch types.
//
// A hook library is compiled against one libtorch version and lies in a folder named after it, such
// as stepscope/torch-2.13.0/libstepscope_torch.so beside libstepscope.so, so that several can
// coexist. It returns a HookApi only to the exact Stepscope and libtorch versions it was built for.
#pragma once

#include <cstdint>

namespace stepscope {

enum class HookMode : std::uint8_t {
  kOff,           // no callback at all
  kUserScopes,    // only the ranges that PyTorch opens in Python (optimizer, zero_grad, loader).
                  // Ops cost nothing, but libtorch looks up the callback twice per backward node
  kOps,           // every op
  kOpsAndShapes,  // every op with its input shapes (costs about 1 us per op)
};

struct HookApi {
  // Installs the callbacks of `mode` and removes those of the previous mode: outside a window they
  // are removed, not ignored. Thread safety: any thread. Setting the current mode does nothing.
  void (*set_mode)(HookMode mode) noexcept;
  // Measures the framework's overhead per op, in ns, as the time of a one-element op. Runs some
  // hundred ops on the calling thread, which takes a fraction of a millisecond.
  std::int64_t (*measure_leaf_op_overhead_ns)() noexcept;
  // Whether cuDNN benchmarks its algorithms to pick the fastest (torch.backends.cudnn.benchmark).
  // Also works if libtorch was built without cuDNN. Thread safety: any thread; takes no lock.
  bool (*cudnn_benchmark)();
  // Whether `record_function_tls`, an at::RecordFunctionTLS, equals the calling thread's current
  // callback state. Always false while ops are not recorded. Thread safety: any thread; takes no
  // lock.
  bool (*is_current_tls)(const void* record_function_tls);
};

// The only symbol of a hook library. `id` is the caller's STEPSCOPE_HOOKS_ID: its version and a
// hash of the sources that both share. `torch_version` is that of the libtorch in this process
// ("2.13.0"). Returns nullptr and sets *error if the library was built for other versions, or if
// this build of that version has another layout (hooks/layout_check.h). Call when no constructor of
// libtorch is still to run.
using GetHooks = const HookApi* (*)(const char* id, const char* torch_version, const char** error);
inline constexpr const char* kGetHooksSymbol = "stepscope_torch_hooks";

}  // namespace stepscope
