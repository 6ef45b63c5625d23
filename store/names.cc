// The names of the enums that are stored or shown.
#include <csignal>
#include <utility>

#include "store/analysis.h"
#include "store/events.h"

namespace stepscope {

const char* phase_name(PhaseKind kind) {
  switch (kind) {
    case PhaseKind::kNone: return "none";
    case PhaseKind::kInput: return "input";
    case PhaseKind::kForward: return "forward";
    case PhaseKind::kBackward: return "backward";
    case PhaseKind::kOptimizer: return "optimizer";
    case PhaseKind::kZeroGrad: return "zero_grad";
    case PhaseKind::kScope: return "scope";
    case PhaseKind::kStep: return "step";
    case PhaseKind::kInputEnd: return "input_end";
    case PhaseKind::kSampler: return "sampler";
  }
  return "none";
}

const char* end_name(EndKind kind) {
  switch (kind) {
    case EndKind::kExit: return "exit";
    case EndKind::kSignal: return "signal";
    case EndKind::kReplaced: return "replaced";
  }
  return "exit";
}

std::string signal_name(std::int64_t number) {
  static constexpr std::pair<int, const char*> kNames[] = {
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
      {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
      {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
      {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
      {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
  for (const auto& [known, name] : kNames) {
    if (number == known) return std::string(name) + " (" + std::to_string(number) + ")";
  }
  return "signal " + std::to_string(number);
}

const char* marker_name(StepMarker marker) {
  switch (marker) {
    case StepMarker::kUser: return "user";
    case StepMarker::kLoader: return "loader";
    case StepMarker::kOptimizer: return "optimizer";
    case StepMarker::kClosure: return "closure";
    case StepMarker::kInferred: return "inferred";
  }
  return "inferred";
}

const char* category_name(Category category) {
  switch (category) {
    case Category::kCompute: return "compute";
    case Category::kInput: return "input";
    case Category::kCopy: return "copy";
    case Category::kCommunication: return "communication";
    case Category::kSync: return "sync";
    case Category::kLaunch: return "launch";
    case Category::kAllocation: return "allocation";
    case Category::kHost: return "host";
    case Category::kOther: return "other";
  }
  return "other";
}

}  // namespace stepscope
