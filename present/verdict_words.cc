#include "present/verdict_words.h"

#include <algorithm>
#include <array>

#include "analyzer/advise/loader_words.h"
#include "analyzer/verdict/classify.h"
#include "analyzer/words.h"
#include "present/device_words.h"
#include "present/evidence_words.h"
#include "present/op_words.h"
#include "present/population_words.h"
#include "present/rank_words.h"
#include "present/report_words.h"
#include "present/segment_words.h"
#include "present/starvation_words.h"
#include "store/counted.h"

namespace stepscope {
namespace {

const char* clause_of(const Bottleneck& bottleneck) {
  if (bottleneck.memory_pressure) return "of the time is spent waiting for memory";
  if (bottleneck.starved) return "of the step is spent ready to run, without a core";
  switch (bottleneck.category) {
    case Category::kCompute:
      return "of the step is compute";
    case Category::kInput:
      return "of the step waits for input";
    case Category::kCopy:
      return "of the step is spent copying data";
    case Category::kCommunication:
      return "of the step is spent in communication";
    case Category::kSync:
      return "of the step waits for the device";
    case Category::kLaunch:
      return "of the step is framework overhead for launching ops";
    case Category::kAllocation:
      return "of the step is spent allocating memory";
    case Category::kHost:
    case Category::kOther:
      return "of the step is code outside any op";
  }
  return "";
}

std::string inferred_input_reason(const LoopReport& report) {
  const std::string counts = " counts as waiting for input.";
  const std::string none =
      report.use.reading_threads > 0 ? "Another thread reads the loader" : "No loader was seen";
  if (report.by_sampler && !report.trains)
    return none +
           ": the time from when the sampler draws a batch until the model's "
           "first layer" +
           counts;
  if (report.marker == StepMarker::kInferred && !report.by_sampler)
    return in_units(none + ": the longest pause between the ops of a step", report.unit()) + counts;
  if (!report.input.unsure)
    return none +
           ": the loop thread's time from the sampler's choice of samples to the "
           "next forward pass" +
           counts;
  return none +
         ": the loop thread's time between the optimizer step and the next "
         "forward pass counts as preparing the batch, but may include other work, such as writing "
         "a log.";
}

std::string input_reason(const LoopReport& report) {
  const InputUse& input = report.input;
  const double busy = input.busy_share();
  if (input.waits == 0) return "";
  if (input.inferred) return inferred_input_reason(report);
  if (busy >= 0.8) {
    return "The loop thread prepares the batches itself: it is busy for " + percent_text(busy) +
           " of the wait" +
           (report.device != DeviceId::kNone ? "."
            : report.trains                  ? ", and none of it overlaps with training."
                                             : ", and none of it overlaps with the model's work.");
  }
  if (input.starved_share() >= 0.05) {
    return "The loop thread works for " + percent_text(busy) + " of the wait, has no core for " +
           percent_text(input.starved_share()) + " and is blocked for " +
           percent_text(input.blocked_share()) + ".";
  }
  if (busy <= 0.2) {
    const std::string blocked =
        "is blocked for " + percent_text(input.blocked_share()) + " of the wait";
    if (loads_without_workers(input.loader))
      return "The loop thread prepares the batches itself, and " + blocked +
             ": by a disk, the network, a lock or a sleep.";
    return "The loop thread " + blocked +
           ": workers, a disk or the network deliver the data too slowly.";
  }
  return "The loop thread works for " + percent_text(busy) +
         " of the wait and is blocked for the rest.";
}

// The share of the steps' time in which libraries computed outside the ops.
double native_share(const LoopReport& report) {
  double sum = 0;
  for (const NativeShare& native : report.native) sum += native.share;
  return sum;
}

bool computes_elsewhere(const LoopReport& report) {
  return native_share(report) >= share_of(report.shares, Category::kCompute) / 2;
}

// The libraries that compute outside the ops, if that is much of the step.
std::string native_reason(const LoopReport& report) {
  constexpr std::size_t kMaxNamed = 3;
  constexpr double kMinNamed = 0.02;
  if (report.basis.top || native_share(report) < kStallListed) return "";
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(report.native.size(), kMaxNamed); ++i) {
    if (report.native[i].share < kMinNamed) continue;
    named.push_back(report.native[i].library + " " + percent_text(report.native[i].share));
  }
  if (named.empty()) return "";
  return "Computed outside PyTorch's ops: " + join(named, ", ") +
         in_units(" of the step.", report.unit());
}

std::string ops_reason(const LoopReport& report, bool launch) {
  if (!launch && computes_elsewhere(report)) return "";
  const double steps = report.op_step_count();
  double calls = 0;
  const OpRow* top = nullptr;
  for (const OpRow& op : report.ops) {
    if (op.phase == "input") continue;
    calls += static_cast<double>(op.calls);
    if (top == nullptr) top = &op;
  }
  if (top == nullptr) return "";
  if (launch) {
    return in_units("A step runs ", report.unit()) +
           count_text(static_cast<std::int64_t>(calls / steps + 0.5)) +
           " ops; most of them do too little work to justify the cost of launching them.";
  }
  const double ns = static_cast<double>(top->self_ns) / steps;
  const double share = report.wall.mean > 0 ? ns / static_cast<double>(report.wall.mean) : 0;
  const double compute = share_of(report.shares, Category::kCompute);
  return (share >= compute / 2 ? "Most of it: " : "The largest part: ") + with_meaning(top->name) +
         (top->phase == "none" ? "" : " in " + top->phase) + ", " + time_text(ns) +
         in_units(" a step, " + percent_text(share) + " of the step.", report.unit());
}

std::string scope_reason(const ScopeShare& scope, const char* unit) {
  return "Most of it is in " + in_quotes(scope.name) + ": " + percent_text(scope.share) +
         in_units(" of the step.", unit);
}

std::string memory_reason(const LoopReport& report) {
  std::string text = "Memory is short, which slows everything else down: ";
  const auto& evidence = report.memory.evidence;
  for (std::size_t i = 0; i < evidence.size(); ++i)
    text += (i == 0                     ? ""
             : i + 1 == evidence.size() ? ", and "
                                        : ", ") +
            statement_of(evidence[i], report);
  return text + ".";
}

std::string starved_reason(const LoopReport& report) {
  const Starvation& starvation = report.starvation;
  std::string who = "The loop thread was";
  if (starvation.worker_share > starvation.loop_share &&
      starvation.worker_share > starvation.pool_share) {
    who = "The workers that the loop waited for were";
  } else if (starvation.pool_share > starvation.loop_share) {
    who = "The threads that compute beside the loop thread were";
  }
  const std::string taker = taker_sentence(starvation.cores);
  return who + " ready and had no core." + (taker.empty() ? "" : " " + taker);
}

// Whether the loop waits for other ranks long enough for that to be mentioned.
bool waits_enough(const LoopReport& report) {
  return report.rank_wait && report.rank_wait->share >= kStallListed;
}

// How much of the communication is waiting for other ranks, unless the verdict says it.
std::string waiting_part(const LoopReport& report) {
  if (!waits_enough(report) || report.basis.bottleneck.straggler) return "";
  return in_units(" (" + percent_text(report.rank_wait->share) + " " +
                      rank_wait_clause(*report.rank_wait) + ")",
                  report.unit());
}

// The share of the host time in which the loop's thread was blocked, as far as it is known.
double blocked_share(const LoopReport& report) {
  const double host =
      share_of(report.shares, Category::kHost) * static_cast<double>(report.wall.mean);
  const double blocked = report.starvation.phases.other.blocked;
  return host > 0 && report.starvation.known ? std::min(blocked / host, 1.0) : 0;
}

std::string host_reason(const LoopReport& report) {
  const double blocked = report.device == DeviceId::kNone ? blocked_share(report) : 0;
  if (blocked >= 0.5) {
    return "The loop thread is blocked for " + percent_text(blocked) +
           " of this time: by a sleep, a lock, a disk or the network.";
  }
  return std::string("It runs on the loop thread between the ops: ") +
         (report.native_unknown
              ? "the program's own code or a library that it calls; which of them is unknown."
              : "the program's own Python or C++ code.");
}

std::string main_reason(const LoopReport& report, const Bottleneck& bottleneck) {
  if (bottleneck.memory_pressure) return memory_reason(report);
  if (bottleneck.starved) return starved_reason(report);
  switch (bottleneck.category) {
    case Category::kInput:
      return input_reason(report);
    case Category::kHost:
      if (report.basis.top) return scope_reason(*report.basis.top, report.unit());
      return host_reason(report);
    case Category::kCommunication:
      return waits_enough(report) ? rank_wait_reason(*report.rank_wait) : "";
    case Category::kLaunch:
    case Category::kCompute:
      if (report.device != DeviceId::kNone) return device_reason(report, bottleneck.category);
      if (report.basis.top) return scope_reason(*report.basis.top, report.unit());
      return ops_reason(report, bottleneck.category == Category::kLaunch);
    default:
      return "";
  }
}

std::string unsure_input_reason(const LoopReport& report) {
  if (!report.basis.unsure_input) return "";
  return percent_text(share_of(report.shares, Category::kInput)) +
         in_units(
             " of the step may be input or other work: no loader was seen, and nothing "
             "distinguishes them.",
             report.unit());
}

std::string stall_name(const Stall& stall) {
  switch (stall.kind) {
    case StallKind::kMemoryPressure:
      return "memory pressure";
    case StallKind::kStarved:
      return "cpu-starved";
    case StallKind::kCategory:
      break;
  }
  return category_name(stall.category);
}

std::string further_stall(const LoopReport& report, const Stall& stall) {
  const bool communicates =
      stall.kind == StallKind::kCategory && stall.category == Category::kCommunication;
  return stall_name(stall) + " " + percent_text(stall.share) +
         (communicates ? waiting_part(report) : "");
}

// The further stalls that are large enough to be mentioned.
std::string further_stalls(const LoopReport& report) {
  const VerdictBasis& basis = report.basis;
  if (basis.further.empty()) return "";
  std::string text;
  for (const Stall& stall : basis.further)
    text += (text.empty() ? "" : ", ") + further_stall(report, stall);
  const std::string taker = basis.bottleneck.starved ? "" : taker_sentence(report.starvation.cores);
  return "Also: " + text + "." + (taker.empty() ? "" : " " + taker);
}

// Whether the share that decides is shown elsewhere with the time in which a thread had no core.
bool lacks_starved_time(const LoopReport& report, const Stall& stall) {
  return stall.kind == StallKind::kCategory &&
         percent_text(deciding_share(report.shares, stall.category)) != percent_text(stall.share);
}

std::string threshold_reason(const LoopReport& report) {
  const auto& near = report.basis.near;
  if (!near) return "";
  return "The share of " + threshold_name(*near) + ", " + percent_text(near->share) +
         (lacks_starved_time(report, *near) ? " without starved time" : "") +
         ", is within one percentage point of a threshold: another recording may get a different "
         "verdict.";
}

std::string populations_reason(const LoopReport& report) {
  static constexpr std::array kNumbers = {"No", "One", "Two", "Three", "Four"};
  const std::vector<Population>& kinds = report.populations;
  if (kinds.size() < 2) return "";
  std::string text = std::string(kNumbers[std::min(kinds.size(), kNumbers.size() - 1)]) +
                     in_units(" kinds of step: ", report.unit());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Population& kind = kinds[i];
    const bool usual = i == 0;
    text += (usual ? "" : ", ") + count_text(kind.steps) + " take " +
            time_text(static_cast<double>(kind.mean_ns)) +
            (usual ? "" : " (" + population_label(report, i) + ")");
  }
  return text + ".";
}

std::string no_ops_reason(const LoopReport& report) {
  std::string text = "No ops were recorded: attribution rests on the phases alone.";
  if (report.lacks_loader) {
    text += " No loader was seen either: the time spent preparing batches is unknown.";
  }
  return text;
}

std::string inferred_steps_reason(const LoopReport& report) {
  if (report.marker != StepMarker::kInferred) return "";
  return in_units(report.by_sampler
                      ? "The steps are inferred from the batches that the sampler draws."
                      : "Nothing marks the steps: they are inferred from the ops that repeat.",
                  report.unit());
}

std::string doubt_text(const Doubt& doubt) {
  switch (doubt.kind) {
    case DoubtKind::kWarmUpOnly:
      return "only warm-up steps";
    case DoubtKind::kFewSteps:
      return "only " + counted(doubt.count, "step");
    case DoubtKind::kStepsVary:
      return "steps vary widely";
    case DoubtKind::kNearThreshold:
      return "close to a threshold";
    case DoubtKind::kStarved:
      return "threads had no core";
    case DoubtKind::kLostEvents:
      return count_text(doubt.count) + (doubt.count == 1 ? " event lost" : " events lost");
    case DoubtKind::kIncomplete:
      return "the recording ended before the program";
    case DoubtKind::kNoOps:
      return "no ops recorded";
    case DoubtKind::kInputUnknown:
      return "input cannot be distinguished from compute";
    case DoubtKind::kDeviceUnknown:
      return "the device's records were lost";
    case DoubtKind::kNativeUnknown:
      return "it is unknown what computes outside the ops";
    case DoubtKind::kInputInferred:
      return "input inferred, no loader seen";
    case DoubtKind::kInputUnsure:
      return "input inferred: it may be other work";
    case DoubtKind::kRanksUnknown:
      return "waits for other ranks count as compute";
  }
  return "";
}

}  // namespace

std::string verdict_clause(const LoopReport& loop) {
  const Bottleneck& bottleneck = loop.basis.bottleneck;
  if (bottleneck.straggler && loop.rank_wait)
    return in_units(rank_wait_clause(*loop.rank_wait), loop.unit());
  const bool on_device = loop.device != DeviceId::kNone && !bottleneck.overlaps();
  return in_units(on_device ? device_clause_of(bottleneck.category) : clause_of(bottleneck),
                  loop.unit());
}

std::vector<std::string> verdict_reasons(const LoopReport& loop) {
  if (loop.verdict.kind == kNoVerdict) {
    return {
        in_units("Only one step of this thread was recorded. That is not a loop: there is no "
                 "verdict and no advice, only a breakdown of this step.",
                 loop.unit())};
  }
  std::vector<std::string> reasons = {main_reason(loop, loop.basis.bottleneck),
                                      native_reason(loop),
                                      populations_reason(loop),
                                      loop.drift ? drift_sentence(*loop.drift, loop.unit()) : "",
                                      further_stalls(loop),
                                      segments_sentence(loop.run_use),
                                      unsure_input_reason(loop),
                                      threshold_reason(loop),
                                      inferred_steps_reason(loop),
                                      loop.ops_recorded ? "" : no_ops_reason(loop)};
  std::erase(reasons, "");
  return reasons;
}

std::string verdict_sentence(const LoopReport& loop) {
  const std::string reasons = join(verdict_reasons(loop), " ");
  if (loop.verdict.kind == kNoVerdict) return reasons;
  return percent_text(loop.verdict.share) + " " + verdict_clause(loop) + "." +
         (reasons.empty() ? "" : " " + reasons);
}

std::vector<std::string> verdict_doubts(const LoopReport& loop) {
  std::vector<std::string> doubts;
  for (const Doubt& doubt : loop.basis.doubts)
    doubts.push_back(in_units(doubt_text(doubt), loop.unit()));
  return doubts;
}

std::string threshold_name(const Stall& stall) {
  return stall.kind == StallKind::kStarved ? "time without a core" : stall_name(stall);
}

}  // namespace stepscope
