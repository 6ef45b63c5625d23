// The names of the enums that are stored or shown.
#include <csignal>
#include <utility>

#include "store/analysis.h"
#include "store/device_events.h"
#include "store/events.h"

namespace stepscope {

const char* phase_name(PhaseKind kind) {
  switch (kind) {
    case PhaseKind::kNone:
      return "none";
    case PhaseKind::kInput:
      return "input";
    case PhaseKind::kForward:
      return "forward";
    case PhaseKind::kBackward:
      return "backward";
    case PhaseKind::kOptimizer:
      return "optimizer";
    case PhaseKind::kZeroGrad:
      return "zero_grad";
    case PhaseKind::kScope:
      return "scope";
    case PhaseKind::kStep:
      return "step";
    case PhaseKind::kInputEnd:
      return "input_end";
    case PhaseKind::kSampler:
      return "sampler";
    case PhaseKind::kOpsBegin:
      return "ops_begin";
    case PhaseKind::kOpsEnd:
      return "ops_end";
    case PhaseKind::kLost:
      return "lost";
  }
  return "none";
}

const char* end_name(EndKind kind) {
  switch (kind) {
    case EndKind::kExit:
      return "exit";
    case EndKind::kSignal:
      return "signal";
    case EndKind::kReplaced:
      return "replaced";
  }
  return "exit";
}

std::string signal_name(std::int64_t number) {
  static constexpr std::pair<int, const char*> kNames[] = {
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},       {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
      {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},     {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
      {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},     {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
      {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"},     {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
      {SIGXFSZ, "SIGXFSZ"}, {SIGVTALRM, "SIGVTALRM"}, {SIGPROF, "SIGPROF"}, {SIGIO, "SIGIO"},
      {SIGPWR, "SIGPWR"},   {SIGSYS, "SIGSYS"}};
  for (const auto& [known, name] : kNames) {
    if (number == known) return std::string(name) + " (" + std::to_string(number) + ")";
  }
  return "signal " + std::to_string(number);
}

const char* copy_kind_name(CopyKind kind) {
  switch (kind) {
    case CopyKind::kUnknown:
      return "unknown";
    case CopyKind::kHostToDevice:
      return "HtoD";
    case CopyKind::kDeviceToHost:
      return "DtoH";
    case CopyKind::kHostToArray:
      return "HtoA";
    case CopyKind::kArrayToHost:
      return "AtoH";
    case CopyKind::kArrayToArray:
      return "AtoA";
    case CopyKind::kArrayToDevice:
      return "AtoD";
    case CopyKind::kDeviceToArray:
      return "DtoA";
    case CopyKind::kDeviceToDevice:
      return "DtoD";
    case CopyKind::kHostToHost:
      return "HtoH";
    case CopyKind::kPeerToPeer:
      return "PtoP";
  }
  return "unknown";
}

const char* memory_kind_name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kUnknown:
      return "unknown";
    case MemoryKind::kPageable:
      return "pageable";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kArray:
      return "array";
    case MemoryKind::kManaged:
      return "managed";
    case MemoryKind::kDeviceStatic:
      return "device_static";
    case MemoryKind::kManagedStatic:
      return "managed_static";
  }
  return "unknown";
}

const char* sync_kind_name(SyncKind kind) {
  switch (kind) {
    case SyncKind::kUnknown:
      return "unknown";
    case SyncKind::kEvent:
      return "event";
    case SyncKind::kStreamWait:
      return "stream_wait";
    case SyncKind::kStream:
      return "stream";
    case SyncKind::kContext:
      return "context";
  }
  return "unknown";
}

const char* line_place_name(LinePlace place) {
  return place == LinePlace::kLoop ? "loop" : "worker";
}

const char* segment_name(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::kEvaluation:
      return "evaluation";
    case SegmentKind::kCheckpoint:
      return "checkpoint";
    case SegmentKind::kBetweenEpochs:
      return "between_epochs";
  }
  return "evaluation";
}

const char* marker_name(StepMarker marker) {
  switch (marker) {
    case StepMarker::kUser:
      return "user";
    case StepMarker::kLoader:
      return "loader";
    case StepMarker::kOptimizer:
      return "optimizer";
    case StepMarker::kClosure:
      return "closure";
    case StepMarker::kInferred:
      return "inferred";
  }
  return "inferred";
}

const char* category_name(Category category) {
  switch (category) {
    case Category::kCompute:
      return "compute";
    case Category::kInput:
      return "input";
    case Category::kCopy:
      return "copy";
    case Category::kCommunication:
      return "communication";
    case Category::kSync:
      return "sync";
    case Category::kLaunch:
      return "launch";
    case Category::kAllocation:
      return "allocation";
    case Category::kHost:
      return "host";
    case Category::kOther:
      return "other";
  }
  return "other";
}

}  // namespace stepscope
