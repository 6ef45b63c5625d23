#include "analyzer/attribute/phase_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analyzer/attribute/sweep.h"

namespace stepscope {
namespace {

// A program that uses a new scope name in each step has a new marked phase in each step. Beyond
// this many, further labels are ignored.
constexpr std::size_t kMaxParts = 4096;

bool is_op_time(const Slice& slice) {
  return slice.category == Category::kCompute || slice.category == Category::kLaunch ||
         slice.category == Category::kCommunication;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The lower quartile. Other activity on a machine only ever adds to a time, so the difference
// between the fast steps is less disturbed than that between the medians.
double lower_quartile(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The quartile over `steps` steps; those without a value count as 0.
double quartile_with_zeros(std::vector<double> values, std::size_t steps) {
  values.resize(std::max(values.size(), steps), 0);
  return lower_quartile(std::move(values));
}

// Takes `amount` from the slices that `which` chooses, in proportion to each. Returns the amount
// that they did not have.
template <typename Which>
double take_from(const std::vector<Slice>& slices, std::vector<double>& net, double amount,
                 Which which) {
  double available = 0;
  for (std::size_t i = 0; i < net.size(); ++i) available += which(slices[i]) ? net[i] : 0;
  if (available <= 0) return amount;
  const double kept = std::max(0.0, 1 - amount / available);
  for (std::size_t i = 0; i < net.size(); ++i) net[i] *= which(slices[i]) ? kept : 1;
  return std::max(0.0, amount - available);
}

bool is_wait_or_backward(const Span& span) {
  return span.phase == PhaseKind::kInput || span.phase == PhaseKind::kBackward;
}

MarkedPhase without_label(const MarkedPhase& phase) {
  return {phase.phase, phase.before_backward, StringId::kNone};
}

// What the phases alone say about a marked phase.
Segment by_phase_alone(const MarkedPhase& phase) {
  const Span span{{}, phase.phase, phase.before_backward, phase.label};
  Instant instant;
  instant.span = &span;
  instant.forward_begun = true;
  return categorise(instant);
}

}  // namespace

MarkedPhase marked_phase(const Span& span) {
  return {span.phase, span.before_backward, span.label};
}

MarkedTimes marked_times(std::span<const Span> spans) {
  MarkedTimes times;
  for (const Span& span : spans) {
    const MarkedPhase phase = marked_phase(span);
    const auto known = std::find_if(times.begin(), times.end(),
                                    [&](const auto& time) { return time.first == phase; });
    if (known == times.end()) {
      times.emplace_back(phase, span.range.length());
    } else {
      known->second += span.range.length();
    }
  }
  return times;
}

PhaseSplit::Part& PhaseSplit::part(const MarkedPhase& phase) {
  const auto known = parts_.find(phase);
  if (known != parts_.end()) return known->second;
  if (parts_.size() < kMaxParts) return parts_[phase];
  return parts_[without_label(phase)];
}

const PhaseSplit::Part* PhaseSplit::find(const MarkedPhase& phase) const {
  auto known = parts_.find(phase);
  if (known == parts_.end() && parts_.size() >= kMaxParts)
    known = parts_.find(without_label(phase));
  return known == parts_.end() ? nullptr : &known->second;
}

double PhaseSplit::add_times(const MarkedTimes& times, std::vector<double> Part::* list) {
  Duration sum{0};
  std::map<Part*, Duration> by_part;  // labels that are ignored share one
  for (const auto& [phase, time] : times) {
    by_part[&part(phase)] += time;
    sum += time;
  }
  for (const auto& [part, time] : by_part)
    (part->*list).push_back(static_cast<double>(to_ns(time)));
  return static_cast<double>(to_ns(sum));
}

void PhaseSplit::begin_op_step(const MarkedTimes& times) {
  op_steps_.push_back(add_times(times, &Part::with_ops));
}

void PhaseSplit::add_plain_step(const MarkedTimes& times) {
  plain_steps_.push_back(add_times(times, &Part::without));
}

void PhaseSplit::add(const MarkedPhase& phase, const Segment& segment) {
  StepAccount& account = part(phase).account;
  const bool full = account.slices().size() >= kMaxParts;
  account.add(segment.category, segment.phase, full ? StringId::kNone : segment.label,
              segment.range.length());
}

void PhaseSplit::add_op(const MarkedPhase& phase, bool nested) {
  Part& target = part(phase);
  ++(nested ? target.nested_ops : target.outer_ops);
}

void PhaseSplit::add_module_call(const MarkedPhase& phase) { ++part(phase).module_calls; }

void PhaseSplit::finish() {
  for (auto& [phase, part] : parts_) remove_cost(part);
  for (const auto& [phase, part] : parts_) {
    const std::vector<Slice>& slices = part.account.slices();
    for (std::size_t i = 0; i < slices.size(); ++i) {
      auto& [net, all] = kept_[{slices[i].category, slices[i].phase}];
      net += part.net[i];
      all += static_cast<double>(to_ns(slices[i].exposed));
    }
  }
  cost_.op_steps = std::ssize(op_steps_);
  cost_.plain_steps = std::ssize(plain_steps_);
  if (op_steps_.empty() || plain_steps_.empty()) return;
  double ops = 0;
  for (const auto& [phase, part] : parts_) ops += part.recorded();
  cost_.plain_step_ns = lower_quartile(plain_steps_);
  cost_.per_step_ns = std::clamp(lower_quartile(op_steps_) - cost_.plain_step_ns, 0.0,
                                 most_per_op_ns_ * ops / static_cast<double>(op_steps_.size()));
}

void PhaseSplit::remove_cost(Part& part) const {
  const std::vector<Slice>& slices = part.account.slices();
  for (const Slice& slice : slices) part.net.push_back(static_cast<double>(to_ns(slice.exposed)));
  const double ops = part.recorded();
  if (ops == 0 || plain_steps_.empty()) return;
  const double per_step = quartile_with_zeros(part.with_ops, op_steps_.size()) -
                          quartile_with_zeros(part.without, plain_steps_.size());
  const double most = std::min(sum_of(part.net), ops * most_per_op_ns_);
  const double cost = std::clamp(per_step * static_cast<double>(op_steps_.size()), 0.0, most);
  const double nested = cost * static_cast<double>(part.nested_ops) / ops;
  // Ops make the part that contains them longer: the forward pass, not the wait before it.
  const auto has_ops = [&slices](PhaseKind phase) {
    return std::any_of(slices.begin(), slices.end(), [phase](const Slice& slice) {
      return is_op_time(slice) && slice.phase == phase;
    });
  };
  const bool no_op_time = std::none_of(slices.begin(), slices.end(), is_op_time);
  const auto around_ops = [&](const Slice& slice) { return no_op_time || has_ops(slice.phase); };
  const auto outside = [&](const Slice& slice) { return !is_op_time(slice) && around_ops(slice); };
  // The first stretch of an op's own time is its launch; the cost of its children comes later.
  const auto computing = [](const Slice& slice) {
    return is_op_time(slice) && slice.category != Category::kLaunch;
  };
  double left = take_from(slices, part.net, nested, computing);
  left += take_from(slices, part.net, cost - nested, outside);
  take_from(slices, part.net, left, around_ops);
}

double PhaseSplit::net_share(Category category, PhaseKind phase) const {
  const auto known = kept_.find({category, phase});
  if (known == kept_.end() || known->second.second <= 0) return 1;
  return known->second.first / known->second.second;
}

StepAccount PhaseSplit::account(const MarkedTimes& times) const {
  StepAccount account;
  for (const auto& [phase, time] : times) {
    const Part* const part = find(phase);
    const double all = part == nullptr ? 0 : sum_of(part->net);
    if (all <= 0) {
      const Segment alone = by_phase_alone(phase);
      account.add(alone.category, alone.phase, alone.label, time);
      continue;
    }
    // Cumulative, so that the rounded pieces add up to the whole.
    double before = 0;
    Duration given{0};
    const std::vector<Slice>& slices = part->account.slices();
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const Slice& slice = slices[i];
      before += part->net[i];
      const Duration until{
          std::llround(static_cast<double>(to_ns(time)) * std::min(before / all, 1.0))};
      if (until > given) account.add(slice.category, slice.phase, slice.label, until - given);
      given = until;
    }
    if (given < time) {
      const Slice& last = slices.back();
      account.add(last.category, last.phase, last.label, time - given);
    }
  }
  return account;
}

std::vector<LoopStretch> PhaseSplit::stretches(std::span<const Span> spans) const {
  std::vector<LoopStretch> stretches;
  while (!spans.empty()) {
    // Each forward pass begins anew; zero_grad may come in its middle.
    const auto end = std::find_if(spans.begin() + 1, spans.end(), is_wait_or_backward);
    const auto pass = spans.first(static_cast<std::size_t>(end - spans.begin()));
    spans = spans.subspan(pass.size());
    std::map<MarkedPhase, std::vector<std::pair<PhaseKind, Duration>>> left;
    for (const auto& time : marked_times(pass)) {
      auto& phases = left[time.first];
      const StepAccount pass_account = account({time});
      for (const Slice& slice : pass_account.slices()) {
        const auto known =
            std::ranges::find(phases, slice.phase, [](const auto& p) { return p.first; });
        if (known == phases.end()) {
          phases.emplace_back(slice.phase, slice.exposed);
        } else {
          known->second += slice.exposed;
        }
      }
    }
    for (const Span& span : pass) {
      auto& phases = left[marked_phase(span)];
      SessionTime at = span.range.start;
      for (auto& [phase, time] : phases) {
        const Duration taken = std::min(time, span.range.end - at);
        add_stretch(stretches, {at, at + taken}, phase, phases.size() > 1);
        time -= taken;
        at += taken;
      }
    }
  }
  return stretches;
}

}  // namespace stepscope
