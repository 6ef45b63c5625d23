#include "present/comparison_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/printable.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr double kManyTimes = 1.5;   // from here on a change is given as a factor
constexpr double kWorthAWord = 0.1;  // of the whole difference; smaller parts are not reported

// With a real minus sign, which is as wide as a plus.
std::string with_sign(double value, const std::string& magnitude) {
  const bool zero = magnitude.find_first_of("123456789") == std::string::npos;
  return (zero ? "" : value < 0 ? "−" : "+") + magnitude;
}

std::string plain_number(double value) { return fmt::format("{:.1f}", value); }

// "1 sample", "15.8 samples"
std::string batch_text(double samples) {
  return mean_text(samples) + (samples == 1 ? " sample" : " samples");
}

std::string signed_number(double percent) {
  return with_sign(percent, plain_number(std::abs(percent)));
}

std::string percent_interval_text(Interval fraction) {
  return signed_number(fraction.low * 100) + " … " + signed_number(fraction.high * 100);
}

// "(−47.3 %, 95 % CI −48.1 … −46.2)"
std::string change_text(const Difference& difference) {
  const auto relative = relative_of(difference);
  if (!relative) return "(" + signed_time_text(difference.delta()) + ")";
  return "(" + signed_percent_text(relative->value) + ", 95 % CI " +
         percent_interval_text(relative->interval) + ")";
}

std::string how_much(double a, double b) {
  const bool faster = b < a;
  const double factor = faster ? a / std::max(b, 1.0) : b / std::max(a, 1.0);
  const std::string amount = factor >= kManyTimes
                                 ? plain_number(factor) + " ×"
                                 : percent_text(std::abs(b / std::max(a, 1.0) - 1));
  return amount + (faster ? " faster" : " slower");
}

// The time, without its unit if `reference` has the same one.
std::string short_time(double ns, double reference) {
  const std::string text = time_text(ns), other = time_text(reference);
  const std::size_t unit = text.rfind(' ');
  return text.substr(unit) == other.substr(other.rfind(' ')) ? text.substr(0, unit) : text;
}

std::string in_words(const std::string& category) {
  if (category == "input") return "waiting for input";
  if (category == "host") return "the program's own code between ops";
  if (category == "other") return "labelled scopes";
  if (category == "launch") return "launching ops";
  return category;
}

std::string list_with_and(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

std::vector<const PartDifference*> by_size(const std::vector<PartDifference>& parts) {
  std::vector<const PartDifference*> sorted;
  for (const PartDifference& part : parts) {
    if (part.ns.changed) sorted.push_back(&part);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* x, const auto* y) {
    return std::abs(x->ns.delta()) > std::abs(y->ns.delta());
  });
  return sorted;
}

std::string category_reason(const LoopComparison& loop) {
  std::vector<std::string> moved;
  for (const PartDifference* part : by_size(loop.categories)) {
    const bool matters = std::abs(part->ns.delta()) >= kWorthAWord * std::abs(loop.mean.delta());
    if (!matters || moved.size() == 3) continue;
    moved.push_back(signed_time_text(part->ns.delta()) + " is " + in_words(part->name));
  }
  if (moved.empty()) return "";
  return loop.mean.changed ? "Of the difference, " + list_with_and(moved) + "."
                           : in_units("Within the step, ", loop.unit) + list_with_and(moved) + ".";
}

std::string median_reason(const LoopComparison& loop) {
  if (!loop.mean.is_known() || loop.mean.changed == loop.median.changed) return "";
  const std::string median =
      time_text(loop.median.b.value) + " instead of " + time_text(loop.median.a.value);
  if (loop.mean.changed) {
    // A median whose change is insignificant may have changed by as much as the mean.
    const Interval& change = loop.median.interval;
    if (change.low <= loop.mean.delta() && loop.mean.delta() <= change.high) return "";
    return in_units("The median step is unchanged (", loop.unit) + median +
           in_units("): only some of the steps changed.", loop.unit);
  }
  return in_units("The median step changed (", loop.unit) + median + ", " +
         signed_time_text(loop.median.delta()) +
         in_units("), but slow steps hide this in the mean.", loop.unit);
}

std::string batch_reason(const LoopComparison& loop) {
  return in_units("A step has ", loop.unit) + batch_text(loop.samples_a) + " in A and " +
         batch_text(loop.samples_b) + in_units(" in B; the other figures are per step.", loop.unit);
}

std::string named(const CallDifference& call) {
  const std::string where = call.phase == "none" ? "outside any phase" : "in " + call.phase;
  return printable(call.name) + " (" + where + ")";
}

// The costliest op that only one of the runs has.
std::string appearance_reason(const LoopComparison& loop, bool gone) {
  std::vector<const CallDifference*> found;
  for (const CallDifference& call : loop.calls) {
    if (call.matters() && (gone ? call.is_gone() : call.is_new())) found.push_back(&call);
  }
  if (found.empty()) return "";
  const CallDifference& most = *found.front();
  const std::string others =
      found.size() > 1 ? ", and " + count_text(static_cast<std::int64_t>(found.size() - 1)) +
                             (found.size() == 2 ? " other op" : " other ops")
                       : "";
  return (gone ? "No longer called: " : "New in B: ") + named(most) + ", " +
         signed_time_text(most.ns.delta()) + in_units(" a step", loop.unit) + others + ".";
}

// If the loop waits for input, the line that makes the batches says more than the line that waits.
const LineDifference* most_changed_line(const LoopComparison& loop) {
  const auto of = [&](LinePlace place) -> const LineDifference* {
    const auto found = std::ranges::find_if(loop.lines, [&](const LineDifference& line) {
      return line.place == place && line.matters();
    });
    return found != loop.lines.end() ? &*found : nullptr;
  };
  const LineDifference* in_loop = of(LinePlace::kLoop);
  const LineDifference* in_worker = of(LinePlace::kWorker);
  const bool waits = in_loop == nullptr || in_loop->category == "input";
  return in_worker != nullptr && waits ? in_worker : in_loop;
}

std::string line_reason(const LoopComparison& loop) {
  const LineDifference* line = most_changed_line(loop);
  if (line == nullptr) return "";
  const std::string where = line->place == LinePlace::kWorker ? ", which makes the batches," : "";
  return "The line of your code that changed most" + where + " is " + line_text(*line) + ": " +
         signed_time_text(line->ns.delta()) + in_units(" a step", loop.unit) + ".";
}

}  // namespace

std::string line_text(const LineDifference& line) {
  const bool moved = line.line_a > 0 && line.line_b > 0 && line.line_a != line.line_b;
  const std::int64_t number = std::max(line.line_a, line.line_b);
  std::string text = printable(line.file);
  if (moved) {
    text += ":" + std::to_string(line.line_a) + "→" + std::to_string(line.line_b);
  } else if (number > 0) {
    text += ":" + std::to_string(number);
  }
  return text + " " + printable(line.function);
}

std::string signed_time_text(double ns) { return with_sign(ns, time_text(std::abs(ns))); }

std::string signed_percent_text(double fraction) {
  return with_sign(fraction, percent_text(std::abs(fraction)));
}

std::string time_interval_text(Interval ns) {
  const double larger = std::max(std::abs(ns.low), std::abs(ns.high));
  const std::string unit = time_text(larger);
  return with_sign(ns.low, time_text_like(std::abs(ns.low), larger)) + " … " +
         with_sign(ns.high, time_text_like(std::abs(ns.high), larger)) +
         unit.substr(unit.rfind(' '));
}

std::string change_of(const LoopComparison& loop) {
  const Difference& pace = loop.pace();
  if (!pace.is_known()) return "unknown";
  if (!pace.changed) return "noise";
  return pace.delta() < 0 ? "faster" : "slower";
}

std::string answer_of(const LoopComparison& loop) {
  const Difference& pace = loop.pace();
  const double a = pace.a.value, b = pace.b.value;
  const std::string each = loop.sample ? " a sample" : in_units(" a step", loop.unit);
  if (!pace.is_known()) {
    return in_units("Too few steps to distinguish a difference from noise: ", loop.unit) +
           time_text(b) + each + " in B, " + short_time(a, b) + " in A";
  }
  if (!pace.changed) {
    return "No difference beyond noise: " + time_text(b) + each + " in B, " + short_time(a, b) +
           " in A " + change_text(pace);
  }
  return "B is " + how_much(a, b) + ": " + time_text(b) + each + " instead of " + short_time(a, b) +
         " " + change_text(pace);
}

std::vector<std::string> reasons_of(const LoopComparison& loop) {
  // Steps that do different work take different times anyway.
  if (loop.sample) return {batch_reason(loop)};
  std::vector<std::string> reasons = {median_reason(loop), category_reason(loop), line_reason(loop),
                                      appearance_reason(loop, true),
                                      appearance_reason(loop, false)};
  std::erase(reasons, "");
  return reasons;
}

std::string doubt_text(const GateOutcome& outcome) {
  switch (outcome.doubt) {
    case GateDoubt::kSingleStep:
      return "a single step says nothing about noise";
    case GateDoubt::kNoOps:
      return outcome.gate.metric + " is unknown without recorded ops";
    case GateDoubt::kNone:
      break;
  }
  return "";
}

std::string outcome_text(const GateOutcome& outcome) {
  if (!outcome.bounded) return "A is indistinguishable from 0";
  const auto text = [&](double value, bool with_unit) {
    switch (outcome.gate.kind) {
      case LimitKind::kRelative:
        return signed_number(value * 100) + (with_unit ? " %" : "");
      case LimitKind::kMorePoints:
        return signed_number(value * 100) + (with_unit ? " points" : "");
      case LimitKind::kShare:
        return plain_number(value * 100) + (with_unit ? " %" : "");
      case LimitKind::kMoreTime:
        return signed_time_text(value);
      case LimitKind::kTime:
        return time_text(std::max(value, 0.0));
    }
    return std::string();
  };
  return text(outcome.value, true) + " (95 % CI " + text(outcome.interval.low, false) + " … " +
         text(outcome.interval.high, false) + ")";
}

}  // namespace stepscope
