// What the verdict on a loop says and rests on, as facts. present/verdict_words.h puts them into
// words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/facts/advice.h"
#include "analyzer/facts/bottleneck.h"
#include "analyzer/facts/evidence.h"
#include "store/analysis.h"

namespace stepscope {

// Why the confidence in a verdict is not high.
enum class DoubtKind : std::uint8_t {
  kWarmUpOnly,
  kFewSteps,
  kStepsVary,
  kNearThreshold,
  kStarved,
  kLostEvents,
  kIncomplete,
  kNoOps,
  kInputUnknown,   // waiting cannot be distinguished from computing
  kNativeUnknown,  // it is unknown which native libraries ran outside the ops
  kInputInferred,  // no loader was seen
  kInputUnsure,    // inferred, and may be other work
  kDeviceUnknown,  // what the device did was lost, so waits for it look like work
  kRanksUnknown,   // waits for other ranks count as compute, because no ops were recorded
};

struct Doubt {
  DoubtKind kind = DoubtKind::kWarmUpOnly;
  std::int64_t count = 0;  // for kFewSteps and kLostEvents

  friend bool operator==(const Doubt&, const Doubt&) = default;
};

// A scope that the program labelled, and its share of the step.
struct ScopeShare {
  std::string name;
  double share = 0;
};

struct LoopVerdict {
  ThreadId thread = ThreadId::kNone;  // the loop thread
  DeviceId device = DeviceId::kNone;  // a loop with devices has a verdict for each
  std::string kind;                   // "input-bound", …, kNoVerdict: the contract in docs/cli.md
  std::string degree;                 // "highly", "moderately" or empty
  double share = 0;                   // 0..1 of step time
  double ci_low = 0;                  // 95 % bootstrap interval of share
  double ci_high = 0;
  std::string confidence;  // "high", "medium", "low"
  std::int64_t steps = 0;  // how many steps it rests on
  std::vector<EvidenceFact> evidence;
  std::vector<AdviceFacts> advice;
};

// What decided a verdict, and what else is worth mentioning.
struct VerdictBasis {
  Bottleneck bottleneck;
  std::vector<Stall> further;     // other stalls that are large enough to mention
  std::optional<Stall> near;      // its share is within a point of a threshold
  bool unsure_input = false;      // the input share may be other work, so it does not decide
  std::optional<ScopeShare> top;  // the scope with most of the verdict's time
  std::vector<Doubt> doubts;      // why the confidence is not high
};

}  // namespace stepscope
