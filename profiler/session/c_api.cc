// The C interface. No exception leaves it. Keeps messages alive and forwards to the session.
#include "stepscope/c_api.h"

#include <cstring>
#include <new>
#include <string>

#include "profiler/session/optimizer_steps.h"
#include "profiler/session/session.h"

namespace stepscope {
namespace {

static_assert(sizeof(OpenPhase) <= sizeof(stepscope_phase));

stepscope_phase to_c(const OpenPhase& phase) {
  stepscope_phase c_phase{};
  std::memcpy(&c_phase, &phase, sizeof(phase));
  return c_phase;
}

OpenPhase from_c(const stepscope_phase& c_phase) {
  OpenPhase phase;
  std::memcpy(static_cast<void*>(&phase), &c_phase, sizeof(phase));
  return phase;
}

// Runs `work` and returns the text of its error, or NULL. The text lives until the thread's next
// call.
template <typename Work>
const char* text_of_error(Work work) noexcept try {
  thread_local std::string message;
  const Status status = work();
  if (status.ok()) return nullptr;
  message = status.message();
  return message.c_str();
} catch (const std::bad_alloc&) {
  return "not recorded: out of memory";
} catch (...) {
  return "not recorded: the system refused a resource that recording needs";
}

stepscope_phase begin(PhaseKind kind, const char* name, std::size_t length) {
  return to_c(Session::get().begin_phase(kind, {name, length}));
}

}  // namespace
}  // namespace stepscope

using stepscope::PhaseKind;
using stepscope::Session;

extern "C" {

const char* stepscope_start(const stepscope_options* options) {
  return stepscope::text_of_error([&] { return Session::get().start(*options); });
}

const char* stepscope_stop() {
  return stepscope::text_of_error([] { return Session::get().stop(); });
}

int stepscope_is_recording() { return Session::get().recording() ? 1 : 0; }

int stepscope_torch_loaded() {
  Session& session = Session::get();
  session.torch_is_loaded(true);
  return session.active() ? 1 : 0;
}

void stepscope_marks_python_ranges(int marked) { Session::get().mark_python_ranges(marked != 0); }

STEPSCOPE_HOT void stepscope_step() { Session::get().step(); }

STEPSCOPE_HOT stepscope_phase stepscope_begin_scope(const char* name, std::size_t length) {
  return stepscope::begin(PhaseKind::kScope, name, length);
}

STEPSCOPE_HOT void stepscope_end_scope(const stepscope_phase* phase) {
  Session::get().end_phase(stepscope::from_c(*phase), PhaseKind::kScope);
}

STEPSCOPE_HOT stepscope_phase stepscope_begin_input(const char* name, std::size_t length) {
  return stepscope::begin(PhaseKind::kInput, name, length);
}

STEPSCOPE_HOT void stepscope_end_input(const stepscope_phase* phase, int exhausted) {
  Session::get().end_phase(stepscope::from_c(*phase),
                           exhausted != 0 ? PhaseKind::kInputEnd : PhaseKind::kInput);
}

STEPSCOPE_HOT void stepscope_batch_comes_from(std::int64_t pid) {
  Session::get().batch_comes_from(pid);
}

STEPSCOPE_HOT stepscope_phase stepscope_begin_optimizer(const char* name, std::size_t length) {
  return stepscope::begin(PhaseKind::kOptimizer, name, length);
}

STEPSCOPE_HOT void stepscope_end_optimizer(const stepscope_phase* phase) {
  Session::get().end_phase(stepscope::from_c(*phase), PhaseKind::kOptimizer);
}

STEPSCOPE_HOT void stepscope_begin_optimizer_step(const void* optimizer, const char* name,
                                                  std::size_t length) {
  stepscope::begin_optimizer_step(optimizer, {name, length});
}

STEPSCOPE_HOT void stepscope_end_optimizer_step(const void* optimizer) {
  stepscope::end_optimizer_step(optimizer);
}

STEPSCOPE_HOT stepscope_phase stepscope_begin_backward() {
  return stepscope::begin(PhaseKind::kBackward, nullptr, 0);
}

STEPSCOPE_HOT void stepscope_end_backward(const stepscope_phase* phase) {
  Session::get().end_phase(stepscope::from_c(*phase), PhaseKind::kBackward);
}

STEPSCOPE_HOT stepscope_phase stepscope_begin_closure() {
  return stepscope::begin(PhaseKind::kForward, "closure", 7);
}

STEPSCOPE_HOT void stepscope_end_closure(const stepscope_phase* phase) {
  Session::get().end_phase(stepscope::from_c(*phase), PhaseKind::kForward);
}

STEPSCOPE_HOT stepscope_phase stepscope_begin_zero_grad() {
  return stepscope::begin(PhaseKind::kZeroGrad, nullptr, 0);
}

STEPSCOPE_HOT void stepscope_end_zero_grad(const stepscope_phase* phase) {
  Session::get().end_phase(stepscope::from_c(*phase), PhaseKind::kZeroGrad);
}

int stepscope_records_modules() { return Session::get().records_modules() ? 1 : 0; }

STEPSCOPE_HOT int stepscope_begin_module(const char* label, std::size_t length) {
  return Session::get().begin_module({label, length});
}

STEPSCOPE_HOT void stepscope_end_module(int call) { Session::get().end_module(call); }

void stepscope_on_ops_change(void (*changed)()) { Session::get().on_ops_change(changed); }
}
