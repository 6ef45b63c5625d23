#include "analyzer/serving/op_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace stepscope {
namespace {

constexpr std::size_t kMaxThreads = 1024;  // that are watched in addition to a loop's

// Ops whose first input has the samples of a batch in its first dimension (torch.nn's layers call
// them).
constexpr std::array<std::string_view, 6> kOnBatches = {"aten::linear",     "aten::conv1d",
                                                        "aten::conv2d",     "aten::conv3d",
                                                        "aten::layer_norm", "aten::batch_norm"};

// FNV-1a over words; 0 is kept for "nothing yet".
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  constexpr std::uint64_t kOffset = 14695981039346656037u, kPrime = 1099511628211u;
  return ((hash == 0 ? kOffset : hash) ^ (word + 1)) * kPrime;
}

}  // namespace

std::optional<std::int64_t> leading_dimension(std::string_view shapes) {
  if (!shapes.starts_with("[[")) return std::nullopt;
  shapes.remove_prefix(2);
  std::int64_t first = 0;
  const auto [end, error] = std::from_chars(shapes.data(), shapes.data() + shapes.size(), first);
  if (error != std::errc() || end == shapes.data() + shapes.size()) return std::nullopt;
  return *end == ',' ? std::optional(first) : std::nullopt;  // a vector has no batch
}

OpFactsReader::OpFactsReader(const Loop& loop, std::function<bool(std::size_t)> counts,
                             const std::function<std::string_view(StringId)>& text)
    : loop_(loop), counts_(std::move(counts)), text_(text), steps_(loop.steps.size()) {}

std::size_t OpFactsReader::step_at(SessionTime time) {
  const auto& steps = loop_.steps;
  if (steps[hint_].contains(time)) return hint_;
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](SessionTime t, const TimeRange& step) { return t < step.start; });
  if (after == steps.begin() || !std::prev(after)->contains(time)) return steps.size();
  hint_ = static_cast<std::size_t>(after - steps.begin()) - 1;
  return hint_;
}

OpFactsReader::Kind OpFactsReader::kind_of(StringId name) {
  const auto [known, added] = kinds_.try_emplace(static_cast<std::uint32_t>(name), Kind::kOther);
  if (!added) return known->second;
  const std::string_view text = text_(name);
  if (text == "aten::batch_norm") {
    known->second = Kind::kBatchNorm;
  } else if (text == "aten::add_") {
    known->second = Kind::kAddition;
  } else if (std::find(kOnBatches.begin(), kOnBatches.end(), text) != kOnBatches.end()) {
    known->second = Kind::kBatched;
  }
  return known->second;
}

void OpFactsReader::add_batch(StringId shapes) {
  const auto [known, added] =
      batches_.try_emplace(static_cast<std::uint32_t>(shapes), std::nullopt);
  if (added) known->second = leading_dimension(text_(shapes));
  if (!known->second) return;
  ++batched_;
  if (*known->second == 1) ++single_;
}

void OpFactsReader::add_elsewhere(const Op& op) {
  if (op.scope == OpScope::kBackwardFunction) autograd_.insert(op.thread);
  const bool plain = op.depth == 0 && op.scope == OpScope::kFunction;
  if (!plain || op.phase != PhaseKind::kNone) return;
  const std::size_t index = step_at(op.start);
  if (index == steps_.size() || !counts_(index)) return;
  const auto known = facts_.elsewhere.find(op.thread);
  if (known != facts_.elsewhere.end()) {
    ++known->second;
  } else if (facts_.elsewhere.size() < kMaxThreads) {
    facts_.elsewhere.emplace(op.thread, 1);
  }
}

// torch.optim opens a range called "Optimizer.step#AdamW.step".
void OpFactsReader::add_range(const Op& op) {
  constexpr std::string_view kBegin = "Optimizer.step#", kEnd = ".step";
  if (op.thread != loop_.thread || !facts_.optimizer.empty()) return;
  std::string_view name = text_(op.name);
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return;
  name.remove_prefix(kBegin.size());
  if (name.size() > kEnd.size()) facts_.optimizer = name.substr(0, name.size() - kEnd.size());
}

void OpFactsReader::add(const Op& op, OpClass kind) {
  if (kind == OpClass::kTransparent) return add_range(op);
  if (kind != OpClass::kWork && kind != OpClass::kCommunication) return;
  if (op.thread != loop_.thread) return add_elsewhere(op);
  const std::size_t index = step_at(op.start);
  if (index == steps_.size() || !counts_(index)) return;
  StepOps& step = steps_[index];
  if (before_.size() <= op.depth) before_.resize(std::size_t{op.depth} + 1, StringId::kNone);
  const StringId before = std::exchange(before_[op.depth], op.name);

  step.ops = mix(step.ops, static_cast<std::uint64_t>(op.name));
  if (op.scope == OpScope::kTorchScript) ++facts_.scripted;
  if (op.sequence >= 0) {
    if (step.first_sequence < 0) step.first_sequence = op.sequence;
    step.first_sequence = std::min(step.first_sequence, op.sequence);
    step.last_sequence = std::max(step.last_sequence, op.sequence);
  }
  const Kind what = kind_of(op.name);
  if (what == Kind::kBatchNorm) {
    ++facts_.batch_norms;
    if (before != StringId::kNone && kind_of(before) == Kind::kAddition)
      ++facts_.counting_batch_norms;
  }
  if (op.shapes == StringId::kNone) return;
  shapes_ = true;
  step.shapes = mix(step.shapes, static_cast<std::uint64_t>(op.shapes));
  if (what == Kind::kBatched || what == Kind::kBatchNorm) add_batch(op.shapes);
}

double OpFactsReader::most_frequent(std::uint64_t StepOps::* hash) const {
  std::map<std::uint64_t, std::int64_t> counts;
  std::int64_t all = 0, most = 0;
  for (const StepOps& step : steps_) {
    if (step.ops == 0) continue;
    ++all;
    most = std::max(most, ++counts[step.*hash]);
  }
  return all > 0 ? static_cast<double>(most) / static_cast<double>(all) : 0;
}

OpFacts OpFactsReader::finish() const {
  OpFacts facts = facts_;
  for (const ThreadId thread : autograd_) facts.elsewhere.erase(thread);
  for (const StepOps& step : steps_) {
    if (step.ops == 0) continue;
    ++facts.steps;
    facts.nodes += step.last_sequence - step.first_sequence;
  }
  facts.same_ops = most_frequent(&StepOps::ops);
  if (!shapes_) return facts;
  facts.same_shapes = most_frequent(&StepOps::shapes);
  if (batched_ > 0) facts.single = static_cast<double>(single_) / static_cast<double>(batched_);
  return facts;
}

}  // namespace stepscope
