// The interface of a hook library to libstepscope, without libtorch types.
//
// A hook library is compiled against one libtorch version and lies in a folder named after it,
// stepscope/torch-2.13.0/libstepscope_torch.so beside libstepscope.so, so that several can coexist.
// It returns a HookApi only to the exact Stepscope and libtorch versions it was built for.
#pragma once

#include <cstdint>

namespace stepscope {

enum class HookMode : std::uint8_t {
  kOff,           // no callback at all
  kUserScopes,    // only the ranges that PyTorch's Python side opens itself: optimizer, zero_grad,
                  // loader; no cost for other ops
  kOps,           // every op
  kOpsAndShapes,  // and the shapes of its inputs (costs about 1 us an op)
};

struct HookApi {
  // Installs the callbacks of `mode` and removes those of the previous mode: outside a window they
  // are removed, not ignored. Thread safety: any thread. Setting the current mode does nothing.
  void (*set_mode)(HookMode mode) noexcept;
  // The time of a one-element op, in ns: the framework's overhead of an op. Runs some hundred ops
  // on the calling thread, a fraction of a millisecond.
  std::int64_t (*measure_leaf_op_overhead_ns)() noexcept;
  // Whether cuDNN measures which algorithm is fastest (torch.backends.cudnn.benchmark); also works
  // with a libtorch without cuDNN. Thread safety: any thread; takes no lock.
  bool (*cudnn_benchmark)();
  // Whether a state of callbacks (an at::RecordFunctionTLS) is the calling thread's already, while
  // ops are recorded; always false while not. Thread safety: any thread; takes no lock.
  bool (*is_current_tls)(const void* record_function_tls);
};

// The only symbol of a hook library. `id` is the caller's STEPSCOPE_HOOKS_ID: its version and a
// hash of their common sources; `torch_version` that of the libtorch in this process ("2.13.0").
// Returns nullptr and sets *error if it was built for other versions.
using GetHooks = const HookApi* (*)(const char* id, const char* torch_version, const char** error);
inline constexpr const char* kGetHooksSymbol = "stepscope_torch_hooks";

}  // namespace stepscope
