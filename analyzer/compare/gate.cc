#include "analyzer/compare/gate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr std::array<const char*, 5> kPhases = {"input", "forward", "backward", "optimizer",
                                                "other"};

Status wrong(std::string_view text, const std::string& what) {
  return Status::error(ErrorKind::kUsage, "gate " + in_quotes(text) + ": " + what);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_category(std::string_view name) {
  for (int i = 0; i < kCategoryCount; ++i) {
    if (name == category_name(static_cast<Category>(i))) return true;
  }
  return false;
}

bool is_phase(std::string_view name) {
  return std::find(kPhases.begin(), kPhases.end(), name) != kPhases.end();
}

bool is_step_time(const Gate& gate) { return gate.metric == "step_time" || gate.metric == "p50"; }

std::string known_metrics() {
  std::string names = "step_time, p50";
  for (int i = 0; i < kCategoryCount; ++i)
    names += std::string(", ") + category_name(static_cast<Category>(i));
  return names + ", forward, backward, optimizer, phase.input or phase.other";
}

bool parse_metric(std::string_view name, Gate& gate) {
  constexpr std::string_view kPhase = "phase.";
  if (name.starts_with(kPhase)) {
    gate.metric = name.substr(kPhase.size());
    gate.of_phase = true;
    return is_phase(gate.metric);
  }
  gate.metric = name;
  gate.of_phase = !is_category(name) && is_phase(name);
  return is_category(name) || gate.of_phase || is_step_time(gate);
}

struct Unit {
  std::string_view name;
  LimitKind signed_kind;  // with + or -
  LimitKind unsigned_kind;
  double factor;
};
constexpr std::array<Unit, 7> kUnits = {{
    {"%", LimitKind::kRelative, LimitKind::kShare, 0.01},
    {"pp", LimitKind::kMorePoints, LimitKind::kMorePoints, 0.01},
    {"ns", LimitKind::kMoreTime, LimitKind::kTime, 1},
    {"us", LimitKind::kMoreTime, LimitKind::kTime, 1e3},
    {"µs", LimitKind::kMoreTime, LimitKind::kTime, 1e3},
    {"ms", LimitKind::kMoreTime, LimitKind::kTime, 1e6},
    {"s", LimitKind::kMoreTime, LimitKind::kTime, 1e9},
}};

Status parse_limit(std::string_view text, std::string_view limit, Gate& gate) {
  const bool has_sign = limit.starts_with('+') || limit.starts_with('-');
  const double sign = limit.starts_with('-') ? -1 : 1;
  if (has_sign) limit.remove_prefix(1);
  double number = 0;
  const auto [end, problem] =
      std::from_chars(limit.data(), limit.data() + limit.size(), number, std::chars_format::fixed);
  const bool is_number = problem == std::errc() && std::isfinite(number) && !limit.starts_with('-');
  if (!is_number)
    return wrong(text, "expected a number with a unit after >, as in +5%, 10%, +2pp or 5ms");
  const auto unit_text =
      trimmed({end, static_cast<std::size_t>(limit.data() + limit.size() - end)});
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const Unit& known) { return known.name == unit_text; });
  if (unit == kUnits.end()) return wrong(text, "the unit must be %, pp, ns, us, ms or s");
  gate.kind = has_sign ? unit->signed_kind : unit->unsigned_kind;
  gate.limit = sign * number * unit->factor;
  if (gate.kind == LimitKind::kMorePoints && !has_sign)
    return wrong(text, "percentage points are a change: write +" + std::string(limit));
  const bool of_share = gate.kind == LimitKind::kShare || gate.kind == LimitKind::kMorePoints;
  if (of_share && is_step_time(gate)) {
    return wrong(text, gate.metric + " is not a share of the step: write +5% for a change, or 5ms");
  }
  return Status();
}

// The figures that one gate compares in one pair of loops.
struct Figures {
  Estimate a;
  Estimate b;
};

std::optional<Figures> figures_of(const Gate& gate, const LoopComparison& loop) {
  if (gate.metric == "step_time") return Figures{loop.mean.a, loop.mean.b};
  if (gate.metric == "p50") return Figures{loop.median.a, loop.median.b};
  const bool of_share = gate.kind == LimitKind::kShare || gate.kind == LimitKind::kMorePoints;
  for (const PartDifference& part : gate.of_phase ? loop.phases : loop.categories) {
    if (part.name != gate.metric) continue;
    const Difference& difference = of_share ? part.share : part.ns;
    return Figures{difference.a, difference.b};
  }
  // A category that neither run has takes zero time, known as precisely as the step time.
  return Figures{{0, 0, loop.mean.a.pieces, loop.mean.a.steps},
                 {0, 0, loop.mean.b.pieces, loop.mean.b.steps}};
}

bool only_of_b(const Gate& gate) {
  return gate.kind == LimitKind::kShare || gate.kind == LimitKind::kTime;
}

// Whether the metric needs ops. The others are known from phases alone.
bool needs_ops(const Gate& gate) {
  return !is_step_time(gate) && gate.metric != "input" && gate.metric != "backward" &&
         gate.metric != "optimizer";
}

GateDoubt doubt_about(const Gate& gate, const LoopComparison& loop, const Figures& figures) {
  const bool has_error = figures.b.has_error() && (only_of_b(gate) || figures.a.has_error());
  if (!has_error) return GateDoubt::kSingleStep;
  const bool has_ops = loop.b_has_ops && (only_of_b(gate) || loop.a_has_ops);
  return needs_ops(gate) && !has_ops ? GateDoubt::kNoOps : GateDoubt::kNone;
}

GateOutcome check(const Gate& gate, const LoopComparison& loop, double level) {
  GateOutcome outcome;
  outcome.gate = gate;
  const Figures figures = *figures_of(gate, loop);
  outcome.doubt = doubt_about(gate, loop, figures);
  if (outcome.doubt != GateDoubt::kNone) {
    outcome.state = GateState::kUndecided;
    return outcome;
  }
  bool beyond = false;
  if (only_of_b(gate)) {
    outcome.value = figures.b.value;
    outcome.interval = interval_of(figures.b, level);
    beyond = outcome.interval.low > gate.limit;
  } else if (gate.kind == LimitKind::kRelative) {
    const Difference difference = difference_of(figures.a, figures.b, level);
    // b / a - 1 > limit, written as b - (1 + limit) × a > 0 so that it holds for a = 0, too.
    beyond = interval_against(difference, 1 + gate.limit).low > 0;
    const auto relative = relative_of(difference);
    outcome.bounded = relative.has_value();
    if (relative) {
      outcome.value = relative->value;
      outcome.interval = relative->interval;
    }
  } else {
    const Difference difference = difference_of(figures.a, figures.b, level);
    outcome.value = difference.delta();
    outcome.interval = difference.interval;
    beyond = outcome.interval.low > gate.limit;
  }
  outcome.state = beyond ? GateState::kFailed : GateState::kPassed;
  return outcome;
}

// The outcome to report: a failure before an undecided gate, then the one nearest to failing.
bool worse(const GateOutcome& x, const GateOutcome& y) {
  const auto rank = [](const GateOutcome& outcome) {
    return outcome.state == GateState::kFailed ? 2 : outcome.state == GateState::kUndecided ? 1 : 0;
  };
  if (rank(x) != rank(y)) return rank(x) > rank(y);
  return x.interval.low > y.interval.low;
}

}  // namespace

Result<Gate> parse_gate(std::string_view text) {
  const std::size_t sign = text.find('>');
  if (sign == std::string_view::npos)
    return wrong(text, "expected METRIC>LIMIT, as in step_time>+5% or input>10%");
  Gate gate;
  gate.text = text;
  if (!parse_metric(trimmed(text.substr(0, sign)), gate))
    return wrong(text, "expected before >: " + known_metrics());
  if (Status status = parse_limit(text, trimmed(text.substr(sign + 1)), gate); !status.ok())
    return status;
  return gate;
}

std::vector<GateOutcome> check_gates(const std::vector<Gate>& gates, const Comparison& comparison) {
  std::vector<GateOutcome> outcomes;
  if (comparison.loops.empty()) return outcomes;
  const double level = 1 - (1 - kLevel) / static_cast<double>(comparison.loops.size());
  for (const Gate& gate : gates) {
    std::optional<GateOutcome> worst;
    for (std::size_t i = 0; i < comparison.loops.size(); ++i) {
      GateOutcome outcome = check(gate, comparison.loops[i], level);
      outcome.loop = i;
      if (!worst || worse(outcome, *worst)) worst = std::move(outcome);
    }
    outcomes.push_back(*std::move(worst));
  }
  return outcomes;
}

}  // namespace stepscope
