// The header-free layer: phases of a libtorch program, from symbol names alone.
//
// libtorch is not linked with -Bsymbolic, so a library that comes before it in the search order and
// exports the same names sees every call, including those through vtables. Each function here
// records a phase and calls libtorch's own function. One binary serves every libtorch.
//
// Argument passing, by the Itanium C++ ABI: a class with a non-trivial copy (at::Tensor,
// std::vector) is returned through a hidden pointer and passed as a pointer to a copy that the
// caller made. The stand-ins below have the same triviality, so the compiler does the same for
// them.
#include <cstddef>
#include <functional>
#include <new>
#include <string_view>
#include <type_traits>

#include "profiler/preload/original.h"
#include "profiler/preload/phase_calls.h"
#include "stepscope/c_api.h"

namespace stepscope {
namespace {

// Stands for at::Tensor and std::vector as a result: returned in memory, where libtorch constructs
// it, never we. Only its non-triviality matters. It is no larger than any of them, so that code
// which relies on its size (AddressSanitizer checks it) touches nothing beyond.
class Returned {
 public:
  Returned(const Returned&);  // not defined: copies are always elided
  ~Returned() {}

 private:
  char storage_[1];
};

// Records an instant: the mode of a model from now on.
void mark_mode(bool training) {
  in_phase(PhaseKind::kScope, training ? "train()" : "eval()", [] {});
}

// std::function<at::Tensor()>, whose layout does not depend on its result.
using Closure = std::function<Returned()>;

// A closure that records its calls of `closure`, which must outlive it; empty if `closure` is. It
// is never destroyed, because that would take a landing pad, and owns nothing.
class NotedClosure {
 public:
  explicit NotedClosure(const Closure& closure) noexcept {
    const auto noted = [&closure]() -> Returned {
      return in_phase(PhaseKind::kForward, "closure", [&closure] { return closure(); });
    };
    static_assert(std::is_trivially_copyable_v<decltype(noted)> && sizeof(noted) <= sizeof(void*),
                  "std::function would allocate memory for it");
    if (closure) {
      new (storage_) Closure(noted);
    } else {
      new (storage_) Closure();
    }
  }
  [[nodiscard]] void* get() { return storage_; }

 private:
  alignas(Closure) std::byte storage_[sizeof(Closure)];
};

}  // namespace
}  // namespace stepscope

// An override of Optimizer::step(std::function<Tensor()> closure) -> Tensor.
#define STEPSCOPE_OPTIMIZER_STEP(Name, mangled)                                                    \
  extern "C" STEPSCOPE_API stepscope::Returned stepscope_optimizer_##Name(void*,                   \
                                                                          void*) __asm__(mangled); \
  extern "C" STEPSCOPE_HOT stepscope::Returned stepscope_optimizer_##Name(void* self,              \
                                                                          void* closure) {         \
    using Step = stepscope::Returned (*)(void*, void*);                                            \
    static constinit stepscope::Original original(mangled);                                        \
    const auto step = reinterpret_cast<Step>(original.get(__builtin_return_address(0)));           \
    stepscope::NotedClosure noted(*static_cast<stepscope::Closure*>(closure));                     \
    return stepscope::in_phase(stepscope::PhaseKind::kOptimizer, {},                               \
                               [&] { return step(self, noted.get()); });                           \
  }

STEPSCOPE_OPTIMIZER_STEP(SGD, "_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(Adam, "_ZN5torch5optim4Adam4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(AdamW, "_ZN5torch5optim5AdamW4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(LBFGS, "_ZN5torch5optim5LBFGS4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(Adagrad, "_ZN5torch5optim7Adagrad4stepESt8functionIFN2at6TensorEvEE")
STEPSCOPE_OPTIMIZER_STEP(RMSprop, "_ZN5torch5optim7RMSprop4stepESt8functionIFN2at6TensorEvEE")

// An override of Sampler::next(size_t batch_size) -> optional<BatchRequest>, the first thing that a
// torch::data loader does for a batch. It runs on the loop's own thread: without workers for each
// batch, with workers for the batches ahead.
#define STEPSCOPE_SAMPLER_NEXT(Name, mangled)                                                     \
  extern "C" STEPSCOPE_API stepscope::Returned stepscope_sampler_##Name(                          \
      void*, std::size_t) __asm__(mangled);                                                       \
  extern "C" STEPSCOPE_HOT stepscope::Returned stepscope_sampler_##Name(void* self,               \
                                                                        std::size_t batch_size) { \
    using Next = stepscope::Returned (*)(void*, std::size_t);                                     \
    static constinit stepscope::Original original(mangled);                                       \
    const auto next = reinterpret_cast<Next>(original.get(__builtin_return_address(0)));          \
    return stepscope::in_phase(stepscope::PhaseKind::kSampler, {},                                \
                               [&] { return next(self, batch_size); });                           \
  }

STEPSCOPE_SAMPLER_NEXT(Random, "_ZN5torch4data8samplers13RandomSampler4nextEm")
STEPSCOPE_SAMPLER_NEXT(Sequential, "_ZN5torch4data8samplers17SequentialSampler4nextEm")
STEPSCOPE_SAMPLER_NEXT(Stream, "_ZN5torch4data8samplers13StreamSampler4nextEm")
STEPSCOPE_SAMPLER_NEXT(DistributedRandom,
                       "_ZN5torch4data8samplers24DistributedRandomSampler4nextEm")
STEPSCOPE_SAMPLER_NEXT(DistributedSequential,
                       "_ZN5torch4data8samplers28DistributedSequentialSampler4nextEm")

// An overload of OutputArchive::save_to(target), which torch::save() calls last.
#define STEPSCOPE_SAVE_TO(Target, mangled)                                                   \
  extern "C" STEPSCOPE_API void stepscope_save_to_##Target(void*, void*) __asm__(mangled);   \
  extern "C" void stepscope_save_to_##Target(void* self, void* target) {                     \
    static constinit stepscope::Original original(mangled);                                  \
    const auto save_to =                                                                     \
        reinterpret_cast<void (*)(void*, void*)>(original.get(__builtin_return_address(0))); \
    stepscope::in_phase(stepscope::PhaseKind::kScope, "torch.save",                          \
                        [&] { save_to(self, target); });                                     \
  }

STEPSCOPE_SAVE_TO(File,
                  "_ZN5torch9serialize13OutputArchive7save_toERKNSt7__cxx1112basic_string"
                  "IcSt11char_traitsIcESaIcEEE")
STEPSCOPE_SAVE_TO(Stream, "_ZN5torch9serialize13OutputArchive7save_toERSo")
STEPSCOPE_SAVE_TO(Function, "_ZN5torch9serialize13OutputArchive7save_toERKSt8functionIFmPKvmEE")

#define STEPSCOPE_MODULE_TRAIN "_ZN5torch2nn6Module5trainEb"
#define STEPSCOPE_MODULE_IS_TRAINING "_ZNK5torch2nn6Module11is_trainingEv"

// Module::train(bool on), which eval() calls too. It is virtual, so this sees models of any class.
// Marked only if the outermost call changes the mode, because some loops call it before each step.
extern "C" STEPSCOPE_API void stepscope_module_train(void*, bool) __asm__(STEPSCOPE_MODULE_TRAIN);
extern "C" STEPSCOPE_HOT void stepscope_module_train(void* self, bool on) {
  static constinit stepscope::Original original(STEPSCOPE_MODULE_TRAIN);
  static constinit stepscope::Original is_training(STEPSCOPE_MODULE_IS_TRAINING);
  const void* const caller = __builtin_return_address(0);
  const auto train = reinterpret_cast<void (*)(void*, bool)>(original.get(caller));
  if (stepscope::changes_mode()) return train(self, on);  // it calls itself for each submodule
  const auto asks = reinterpret_cast<bool (*)(const void*)>(is_training.find(caller));
  const bool changes = asks == nullptr || asks(self) != on;
  stepscope::change_mode([&] { train(self, on); });
  if (changes) stepscope::mark_mode(on);
}

#define STEPSCOPE_ZERO_GRAD "_ZN5torch5optim9Optimizer9zero_gradEv"  // libtorch up to 1.13
#define STEPSCOPE_ZERO_GRAD_BOOL \
  "_ZN5torch5optim9Optimizer9zero_gradEb"  // (bool set_to_none) since 2.0
#define STEPSCOPE_ENGINE_EXECUTE                                                               \
  "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EE" \
  "bbbS7_"

extern "C" STEPSCOPE_API void stepscope_zero_grad(void*) __asm__(STEPSCOPE_ZERO_GRAD);
extern "C" STEPSCOPE_HOT void stepscope_zero_grad(void* self) {
  static constinit stepscope::Original original(STEPSCOPE_ZERO_GRAD);
  const auto zero_grad =
      reinterpret_cast<void (*)(void*)>(original.get(__builtin_return_address(0)));
  stepscope::in_phase(stepscope::PhaseKind::kZeroGrad, {}, [&] { zero_grad(self); });
}

extern "C" STEPSCOPE_API void stepscope_zero_grad_bool(void*,
                                                       bool) __asm__(STEPSCOPE_ZERO_GRAD_BOOL);
extern "C" STEPSCOPE_HOT void stepscope_zero_grad_bool(void* self, bool set_to_none) {
  static constinit stepscope::Original original(STEPSCOPE_ZERO_GRAD_BOOL);
  const auto zero_grad =
      reinterpret_cast<void (*)(void*, bool)>(original.get(__builtin_return_address(0)));
  stepscope::in_phase(stepscope::PhaseKind::kZeroGrad, {}, [&] { zero_grad(self, set_to_none); });
}

// Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs) ->
// variable_list: a whole backward pass; there is no other entry to one.
extern "C" STEPSCOPE_API stepscope::Returned stepscope_engine_execute(
    void*, const void*, const void*, bool, bool, bool,
    const void*) __asm__(STEPSCOPE_ENGINE_EXECUTE);
extern "C" STEPSCOPE_HOT stepscope::Returned stepscope_engine_execute(
    void* self, const void* roots, const void* inputs, bool keep_graph, bool create_graph,
    bool accumulate_grad, const void* outputs) {
  using Execute =
      stepscope::Returned (*)(void*, const void*, const void*, bool, bool, bool, const void*);
  static constinit stepscope::Original original(STEPSCOPE_ENGINE_EXECUTE);
  const auto execute = reinterpret_cast<Execute>(original.get(__builtin_return_address(0)));
  return stepscope::in_phase(stepscope::PhaseKind::kBackward, {}, [&] {
    return execute(self, roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  });
}
