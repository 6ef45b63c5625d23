#include "profiler/session/optimizer_steps.h"

#include <array>
#include <cstddef>

#include "profiler/session/session.h"

namespace stepscope {
namespace {

struct OpenStep {
  const void* optimizer = nullptr;
  OpenPhase phase;
};

// An optimizer may step others inside its own step. Deeper ones are not marked.
constexpr std::size_t kMaxOpenSteps = 4;

struct OpenSteps {
  std::array<OpenStep, kMaxOpenSteps> steps{};  // the innermost last
  std::size_t count = 0;
};

// initial-exec: see thread_recorder.
constinit thread_local OpenSteps open_steps __attribute__((tls_model("initial-exec")));

// Ends the step of `optimizer` as `ended_as`, and those inside it as scopes. False: it has none.
bool end_open(const void* optimizer, PhaseKind ended_as) {
  OpenSteps& open = open_steps;
  std::size_t first = 0;
  while (first < open.count && open.steps[first].optimizer != optimizer) ++first;
  if (first == open.count) return false;
  while (open.count > first) {
    const OpenPhase phase = open.steps[--open.count].phase;
    Session::get().end_phase(phase, open.count == first ? ended_as : PhaseKind::kScope);
  }
  return true;
}

}  // namespace

void begin_optimizer_step(const void* optimizer, std::string_view name) noexcept {
  end_open(optimizer, PhaseKind::kScope);
  OpenSteps& open = open_steps;
  if (open.count == kMaxOpenSteps) return;
  const OpenPhase phase = Session::get().begin_phase(PhaseKind::kOptimizer, name);
  open.steps[open.count++] = {optimizer, phase};
}

void end_optimizer_step(const void* optimizer) noexcept {
  end_open(optimizer, PhaseKind::kOptimizer);
}

}  // namespace stepscope
