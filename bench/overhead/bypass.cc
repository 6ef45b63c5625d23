// Lets a loop switch parts of Stepscope off and on while it runs: bench/overhead/parts.py.
//
// Preloaded before libstepscope, so that libtorch's calls come here first. They go on to
// libstepscope, or past it, to libtorch's own function. Argument passing: see
// profiler/preload/phase_symbols.cc. Not thread-safe: one thread calls bypass_parts().
#include <dlfcn.h>

#include <cstddef>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

enum Part : unsigned { kPhases = 1, kMemory = 2 };
unsigned bypassed = 0;

// libstepscope's function, and libtorch's own; null: its library has another name here.
class Target {
 public:
  Target(const char* library, const char* name) : next_(dlsym(RTLD_NEXT, name)) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) own_ = dlsym(handle, name);
  }
  [[nodiscard]] void* get(Part part) const {
    return (bypassed & part) != 0 && own_ != nullptr ? own_ : next_;
  }

 private:
  void* next_;
  void* own_ = nullptr;
};

}  // namespace

// `parts`: those to switch off.
EXPORTED void bypass_parts(unsigned parts) { bypassed = parts; }

#define PASS(function, part, library, mangled, parameters, arguments)        \
  EXPORTED void* function parameters __asm__(mangled);                       \
  EXPORTED void* function parameters {                                       \
    static const Target target(library, mangled);                            \
    return reinterpret_cast<void*(*)parameters>(target.get(part)) arguments; \
  }

PASS(pass_execute, kPhases, "libtorch_cpu.so",
     "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EE"
     "bbbS7_",
     (void* result, void* self, const void* roots, const void* inputs, bool keep, bool create,
      bool accumulate, const void* outputs),
     (result, self, roots, inputs, keep, create, accumulate, outputs))
PASS(pass_sgd_step, kPhases, "libtorch_cpu.so",
     "_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE",
     (void* result, void* self, void* closure), (result, self, closure))
PASS(pass_zero_grad, kPhases, "libtorch_cpu.so", "_ZN5torch5optim9Optimizer9zero_gradEb",
     (void* self, bool set_to_none), (self, set_to_none))
PASS(pass_new, kMemory, "libc10.so", "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm",
     (void* self, void* pointer, std::size_t bytes), (self, pointer, bytes))
PASS(pass_delete, kMemory, "libc10.so", "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv",
     (void* self, void* pointer), (self, pointer))
