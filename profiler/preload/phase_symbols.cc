// The header-free layer: phases of a libtorch program, from symbol names alone.
//
// libtorch is not linked -Bsymbolic, so a library that comes before it in the search order and
// exports the same names sees every call, those through vtables included. Each function here notes
// a phase and goes on to libtorch's own. One binary serves every libtorch.
//
// Argument passing, by the Itanium C++ ABI: a class with a non-trivial copy (at::Tensor,
// std::vector) is returned through a hidden pointer and passed as a pointer to a copy that the
// caller made. The stand-ins below have the same triviality, so the compiler does the same for
// them.
#include "profiler/preload/original.h"
#include "profiler/session/session.h"

namespace stepscope {
namespace {

// Stands for at::Tensor and std::vector as a result: returned in memory, made by libtorch in place,
// never here. Only its non-triviality counts; it is no larger than any of them, so that a compiler
// that believes in its size (AddressSanitizer checks it) touches nothing beyond.
class Returned {
 public:
  Returned(const Returned&);  // not defined: copies are always elided
  ~Returned() {}

 private:
  char storage_[1];
};

// Notes `kind` for the life of the object; also when libtorch or the user's closure throws.
class PhaseGuard {
 public:
  explicit PhaseGuard(PhaseKind kind) : phase_(begin(kind)) {}
  ~PhaseGuard() { Session::get().end_phase(phase_, phase_.kind); }
  PhaseGuard(const PhaseGuard&) = delete;
  PhaseGuard& operator=(const PhaseGuard&) = delete;

 private:
  static OpenPhase begin(PhaseKind kind) {
    Session& session = Session::get();
    session.torch_is_loaded(false);  // the first we hear of a libtorch that was loaded late
    return session.begin_phase(kind, {});
  }

  OpenPhase phase_;
};

}  // namespace
}  // namespace stepscope

// An override of Optimizer::step(std::function<Tensor()> closure) -> Tensor.
#define STEPSCOPE_OPTIMIZER_STEP(Name, mangled)                                                    \
  extern "C" STEPSCOPE_API stepscope::Returned stepscope_optimizer_##Name(void*,                   \
                                                                          void*) __asm__(mangled); \
  extern "C" stepscope::Returned stepscope_optimizer_##Name(void* self, void* closure) {           \
    using Step = stepscope::Returned (*)(void*, void*);                                            \
    static constinit stepscope::Original original(mangled);                                        \
    const auto step = reinterpret_cast<Step>(original.get(__builtin_return_address(0)));           \
    const stepscope::PhaseGuard guard(stepscope::PhaseKind::kOptimizer);                           \
    return step(self, closure);                                                                    \
  }

STEPSCOPE_OPTIMIZER_STEP(SGD, "_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(Adam, "_ZN5torch5optim4Adam4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(AdamW, "_ZN5torch5optim5AdamW4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(LBFGS, "_ZN5torch5optim5LBFGS4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(Adagrad, "_ZN5torch5optim7Adagrad4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(RMSprop, "_ZN5torch5optim7RMSprop4stepESt8functionIFN2at6TensorEvEE")

// An override of Sampler::next(size_t batch_size) -> optional<BatchRequest>, the first thing that a
// torch::data loader does for a batch. Where it has no workers, and with some for the batches
// ahead, on the loop's own thread.
#define STEPSCOPE_SAMPLER_NEXT(Name, mangled)                                                   \
  extern "C" STEPSCOPE_API stepscope::Returned stepscope_sampler_##Name(                        \
      void*, std::size_t) __asm__(mangled);                                                     \
  extern "C" stepscope::Returned stepscope_sampler_##Name(void* self, std::size_t batch_size) { \
    using Next = stepscope::Returned (*)(void*, std::size_t);                                   \
    static constinit stepscope::Original original(mangled);                                     \
    const auto next = reinterpret_cast<Next>(original.get(__builtin_return_address(0)));        \
    const stepscope::PhaseGuard guard(stepscope::PhaseKind::kSampler);                          \
    return next(self, batch_size);                                                              \
  }

STEPSCOPE_SAMPLER_NEXT(Random, "_ZN5torch4data8samplers13RandomSampler4nextEm")
STEPSCOPE_SAMPLER_NEXT(Sequential, "_ZN5torch4data8samplers17SequentialSampler4nextEm")
STEPSCOPE_SAMPLER_NEXT(Stream, "_ZN5torch4data8samplers13StreamSampler4nextEm")
STEPSCOPE_SAMPLER_NEXT(DistributedRandom,
                       "_ZN5torch4data8samplers24DistributedRandomSampler4nextEm")
STEPSCOPE_SAMPLER_NEXT(DistributedSequential,
                       "_ZN5torch4data8samplers28DistributedSequentialSampler4nextEm")

#define STEPSCOPE_ZERO_GRAD "_ZN5torch5optim9Optimizer9zero_gradEv"  // libtorch up to 1.13
#define STEPSCOPE_ZERO_GRAD_BOOL \
  "_ZN5torch5optim9Optimizer9zero_gradEb"  // (bool set_to_none) since 2.0
#define STEPSCOPE_ENGINE_EXECUTE                                                               \
  "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EE" \
  "bbbS7_"

extern "C" STEPSCOPE_API void stepscope_zero_grad(void*) __asm__(STEPSCOPE_ZERO_GRAD);
extern "C" void stepscope_zero_grad(void* self) {
  static constinit stepscope::Original original(STEPSCOPE_ZERO_GRAD);
  const auto zero_grad =
      reinterpret_cast<void (*)(void*)>(original.get(__builtin_return_address(0)));
  const stepscope::PhaseGuard guard(stepscope::PhaseKind::kZeroGrad);
  zero_grad(self);
}

extern "C" STEPSCOPE_API void stepscope_zero_grad_bool(void*,
                                                       bool) __asm__(STEPSCOPE_ZERO_GRAD_BOOL);
extern "C" void stepscope_zero_grad_bool(void* self, bool set_to_none) {
  static constinit stepscope::Original original(STEPSCOPE_ZERO_GRAD_BOOL);
  const auto zero_grad =
      reinterpret_cast<void (*)(void*, bool)>(original.get(__builtin_return_address(0)));
  const stepscope::PhaseGuard guard(stepscope::PhaseKind::kZeroGrad);
  zero_grad(self, set_to_none);
}

// Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs) ->
// variable_list: a whole backward pass, and the only way into one.
extern "C" STEPSCOPE_API stepscope::Returned stepscope_engine_execute(
    void*, const void*, const void*, bool, bool, bool,
    const void*) __asm__(STEPSCOPE_ENGINE_EXECUTE);
extern "C" stepscope::Returned stepscope_engine_execute(void* self, const void* roots,
                                                        const void* inputs, bool keep_graph,
                                                        bool create_graph, bool accumulate_grad,
                                                        const void* outputs) {
  using Execute =
      stepscope::Returned (*)(void*, const void*, const void*, bool, bool, bool, const void*);
  static constinit stepscope::Original original(STEPSCOPE_ENGINE_EXECUTE);
  const auto execute = reinterpret_cast<Execute>(original.get(__builtin_return_address(0)));
  const stepscope::PhaseGuard guard(stepscope::PhaseKind::kBackward);
  return execute(self, roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
}
