#include "analyzer/verdict/judge.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "analyzer/starved/measure_starvation.h"
#include "analyzer/verdict/bootstrap.h"
#include "analyzer/verdict/confidence.h"
#include "analyzer/verdict/device_words.h"
#include "analyzer/verdict/evidence.h"
#include "analyzer/verdict/op_words.h"
#include "analyzer/verdict/summary.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

double deciding_ns(const Step& step, Category category) {
  const std::int64_t other = category == Category::kHost ? exposed_ns(step, Category::kOther) : 0;
  return static_cast<double>(exposed_ns(step, category) + other);
}

Interval interval_of(const LoopReport& report, const Bottleneck& bottleneck) {
  std::vector<double> parts, wholes;
  for (const std::size_t i : report.analysed) {
    parts.push_back(bottleneck.memory_pressure ? report.memory.stall_ns[i]
                    : bottleneck.starved       ? report.starvation.starved_ns[i]
                                               : deciding_ns(report.steps[i], bottleneck.category));
    wholes.push_back(static_cast<double>(to_ns(report.steps[i].dur)));
  }
  return bootstrap_ratio(parts, wholes);
}

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
  if (report.by_sampler && !report.trains)
    return "No loader was seen: what is done for each batch that the sampler draws, until the "
           "model's first layer," +
           counts;
  if (report.marker == StepMarker::kInferred && !report.by_sampler)
    return in_units("No loader was seen: the longest pause between the ops of a step",
                    report.unit()) +
           counts;
  if (!report.input.unsure)
    return "No loader was seen: what the loop thread does from the sampler's choice of samples to "
           "the next forward pass" +
           counts;
  return "No loader was seen: what the loop thread does between the optimizer step and the next "
         "forward pass counts as preparing the batch; whether it does other work then, such as "
         "writing a log, is unknown.";
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
            : report.trains                  ? ", and nothing overlaps with training."
                                             : ", and nothing overlaps with the model.");
  }
  if (input.starved_share() >= 0.05) {
    return "The loop thread works for " + percent_text(busy) + " of the wait, has no core for " +
           percent_text(input.starved_share()) + " and is blocked for " +
           percent_text(input.blocked_share()) + ".";
  }
  if (busy <= 0.2) {
    return "The loop thread is blocked for " + percent_text(input.blocked_share()) +
           " of the wait: workers, a disk or the network deliver the data too slowly.";
  }
  return "The loop thread works for " + percent_text(busy) +
         " of the wait and is blocked for the rest.";
}

std::string ops_reason(const LoopReport& report, bool launch) {
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
         in_units(" a step, " + percent_text(share) + " of it.", report.unit());
}

// Names the costliest scope when scopes take most of the time.
std::string host_reason(const LoopReport& report) {
  if (share_of(report.shares, Category::kOther) <= share_of(report.shares, Category::kHost)) {
    return "It runs on the loop thread between the ops: the program's own Python or C++ code.";
  }
  std::map<std::string, double> labels;
  double total = 0;
  for (const std::size_t i : report.analysed) {
    total += static_cast<double>(to_ns(report.steps[i].dur));
    for (const StepTime& time : report.steps[i].times) {
      if (time.category == Category::kOther)
        labels[time.label] += static_cast<double>(to_ns(time.exposed));
    }
  }
  const auto most =
      std::max_element(labels.begin(), labels.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return "Most of it is in " + in_quotes(most->first) + ": " + percent_text(most->second / total) +
         in_units(" of the step.", report.unit());
}

std::string memory_reason(const LoopReport& report) {
  std::string text = "Memory is short, which slows everything else down: ";
  const auto& evidence = report.memory.evidence;
  for (std::size_t i = 0; i < evidence.size(); ++i)
    text += (i == 0 ? "" : i + 1 == evidence.size() ? ", and " : ", ") + evidence[i].statement;
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

std::string main_reason(const LoopReport& report, const Bottleneck& bottleneck) {
  if (bottleneck.memory_pressure) return memory_reason(report);
  if (bottleneck.starved) return starved_reason(report);
  switch (bottleneck.category) {
    case Category::kInput:
      return input_reason(report);
    case Category::kHost:
      return host_reason(report);
    case Category::kLaunch:
    case Category::kCompute:
      if (report.device != DeviceId::kNone) return device_reason(report, bottleneck.category);
      return ops_reason(report, bottleneck.category == Category::kLaunch);
    default:
      return "";
  }
}

// Input that is inferred and may be other work.
bool unsure_input(const LoopReport& report, const Shares& shares) {
  const double input = share_of(shares, Category::kInput);
  return report.input.unsure && input >= kModeratelyInputBound && input < kHighlyInputBound;
}

std::string unsure_input_reason(const LoopReport& report) {
  if (!unsure_input(report, report.shares)) return "";
  return percent_text(share_of(report.shares, Category::kInput)) +
         in_units(
             " of the step may be input or other work: no loader was seen, and nothing tells "
             "them apart.",
             report.unit());
}

// The stalls that are too large to be left unsaid.
std::string further_stalls(const LoopReport& report, const Bottleneck& bottleneck) {
  std::string text;
  if (!bottleneck.memory_pressure && report.memory.share >= kStallListed)
    text = "memory pressure " + percent_text(report.memory.share);
  const double starved = report.starvation.share;
  if (!bottleneck.starved && starved >= kStallListed)
    text += (text.empty() ? "" : ", ") + std::string("cpu-starved ") + percent_text(starved);
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    if (category == Category::kCompute || category == Category::kOther) continue;
    if (category == bottleneck.category && !bottleneck.overlaps()) continue;
    const double share = deciding_share(report.shares, category);
    if (!is_listed(category, share)) continue;
    if (category == Category::kInput && unsure_input(report, report.shares)) continue;
    text += (text.empty() ? "" : ", ") + std::string(category_name(category)) + " " +
            percent_text(share);
  }
  if (text.empty()) return "";
  const std::string taker = bottleneck.starved ? "" : taker_sentence(report.starvation.cores);
  return "Also: " + text + "." + (taker.empty() ? "" : " " + taker);
}

// The shares that name a verdict. Time in which a thread had no core is no stall of another kind,
// and a small pause that may be anything makes no loop input-bound. The share that is reported is
// the one of the breakdown all the same.
Shares naming_shares(const LoopReport& report, Shares shares) {
  if (unsure_input(report, shares)) shares[static_cast<std::size_t>(Category::kInput)] = 0;
  for (std::size_t i = 0; i < shares.size() && report.starvation.known; ++i) {
    if (report.shares[i] > 0) shares[i] *= report.starvation.net[i] / report.shares[i];
  }
  return shares;
}

Bottleneck bottleneck_of(const LoopReport& report, const Shares& shares, double memory,
                         double starved) {
  Bottleneck result = classify(naming_shares(report, shares), memory, starved);
  if (!result.overlaps()) result.share = deciding_share(shares, result.category);
  return result;
}

std::optional<NearThreshold> near_bottleneck(const LoopReport& report) {
  const double input = share_of(report.shares, Category::kInput);
  if (unsure_input(report, report.shares) && input >= kHighlyInputBound - kNear)
    return NearThreshold{"input", input};
  return near_threshold(naming_shares(report, report.shares), report.memory.share,
                        report.starvation.share);
}

std::string threshold_reason(const LoopReport& report) {
  const auto near = near_bottleneck(report);
  if (!near) return "";
  return "The share of " + near->name + ", " + percent_text(near->share) +
         ", is within a point of a threshold: another recording may get another verdict.";
}

std::string populations_reason(const LoopReport& report) {
  static constexpr std::array kNumbers = {"No", "One", "Two", "Three", "Four"};
  const std::vector<Population>& kinds = report.populations;
  if (kinds.size() < 2) return "";
  std::string text = std::string(kNumbers[std::min(kinds.size(), kNumbers.size() - 1)]) +
                     in_units(" kinds of step: ", report.unit());
  for (const Population& kind : kinds) {
    const bool usual = &kind == &kinds.front();
    text += (usual ? "" : ", ") + count_text(kind.steps) + " take " +
            time_text(static_cast<double>(kind.mean_ns)) + (usual ? "" : " (" + kind.label + ")");
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

void add_reason(LoopReport& report, std::string reason) {
  if (!reason.empty()) report.reasons.push_back(std::move(reason));
}

// `ns`: of each step of the loop; may be empty.
double share_in(const LoopReport& report, const std::vector<double>& ns,
                const std::vector<std::size_t>& members) {
  if (ns.empty()) return 0;
  double stalled = 0, total = 0;
  for (const std::size_t i : members) {
    stalled += ns[i];
    total += static_cast<double>(to_ns(report.steps[i].dur));
  }
  return total > 0 ? stalled / total : 0;
}

// Classifies each step, and each kind of step, on its own.
void judge_kinds(LoopReport& report) {
  const auto of = [&report](const Shares& shares, const std::vector<std::size_t>& members) {
    return bottleneck_of(report, shares, share_in(report, report.memory.stall_ns, members),
                         share_in(report, report.starvation.starved_ns, members));
  };
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const std::vector<std::size_t> alone = {i};
    const Shares shares = exposed_shares(report.steps, alone);
    report.steps[i].kinds = {{of(shares, alone).kind, 0, report.verdict.device}};
  }
  std::int64_t number = 0;
  for (Population& kind : report.populations) {
    kind.bottleneck = of(kind.shares, kind.members);
    ++number;
    for (const std::size_t i : kind.members) report.steps[i].kinds.front().population = number;
    report.verdict.populations.push_back({number, kind.steps, kind.mean_ns, kind.share, kind.label,
                                          kind.bottleneck.kind, kind.bottleneck.degree, kind.period,
                                          kind.first});
  }
}

}  // namespace

void withhold_verdict(LoopReport& report) {
  Verdict& verdict = report.verdict;
  verdict.kind = kNoVerdict;
  verdict.confidence = "high";
  verdict.steps = static_cast<std::int64_t>(report.analysed.size());
  verdict.sentence = in_units(
      "Only one step was recorded. That is no loop: there is no verdict and no advice, only where "
      "the time of this step went.",
      report.unit());
  report.reasons = {verdict.sentence};
  judge_kinds(report);
}

void judge(LoopReport& report, const RecordingQuality& recording) {
  if (report.steps.size() == 1) return withhold_verdict(report);
  const Bottleneck bottleneck =
      bottleneck_of(report, report.shares, report.memory.share, report.starvation.share);
  const Interval ci = interval_of(report, bottleneck);
  const bool warm_up_only = std::none_of(report.analysed.begin(), report.analysed.end(),
                                         [&](std::size_t i) { return report.steps[i].steady; });
  const auto steps = static_cast<std::int64_t>(report.analysed.size());
  const bool input_unknown = report.by_sampler && !report.trains && !report.ops_recorded;
  const Confidence confidence = confidence_of(
      {steps, warm_up_only, report.ops_recorded, report.input.inferred, report.input.unsure,
       input_unknown, ci, bottleneck, near_bottleneck(report).has_value(), report.starvation.share,
       recording.ops, recording.lost + report.late_ops, recording.incomplete});

  Verdict& verdict = report.verdict;
  verdict.kind = bottleneck.kind;
  verdict.degree = bottleneck.degree;
  verdict.share = bottleneck.share;
  verdict.ci_low = ci.low;
  verdict.ci_high = ci.high;
  verdict.confidence = confidence.level;
  verdict.steps = steps;

  const bool on_device = report.device != DeviceId::kNone && !bottleneck.overlaps();
  report.clause = in_units(
      on_device ? device_clause_of(bottleneck.category) : clause_of(bottleneck), report.unit());
  report.doubts.clear();
  for (const std::string& doubt : confidence.reasons)
    report.doubts.push_back(in_units(doubt, report.unit()));
  report.reasons.clear();
  add_reason(report, main_reason(report, bottleneck));
  add_reason(report, populations_reason(report));
  if (report.drift) add_reason(report, report.drift->sentence);
  add_reason(report, further_stalls(report, bottleneck));
  add_reason(report, segments_sentence(report.run_use));
  add_reason(report, unsure_input_reason(report));
  add_reason(report, threshold_reason(report));
  add_reason(report, inferred_steps_reason(report));
  if (!report.ops_recorded) add_reason(report, no_ops_reason(report));
  verdict.sentence = percent_text(verdict.share) + " " + report.clause + ".";
  for (const std::string& reason : report.reasons) verdict.sentence += " " + reason;
  judge_kinds(report);
  verdict.evidence = evidence_of(report, bottleneck);
}

}  // namespace stepscope
