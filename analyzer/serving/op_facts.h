// What the ops of a loop show besides their times: whether they record gradients, are the same in
// every step, compute single samples. Collected while the ops are read for attribution.
//
// Memory: two words per step, and a small entry for each distinct text of shapes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/ops/op_class.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// Facts about the requested steps, without warm-up.
struct OpFacts {
  std::int64_t steps = 0;  // steps that have ops; 0: unknown
  // Autograd nodes that the loop's thread created: the advance of the sequence numbers of its ops
  // inside steps.
  std::int64_t nodes = 0;
  std::int64_t batch_norms = 0;
  // Of these, those right after an in-place addition: in training mode torch.nn's batch norm first
  // increments its batch count (num_batches_tracked).
  std::int64_t counting_batch_norms = 0;
  std::int64_t scripted = 0;  // TorchScript functions
  // Ops that other threads of the process ran meanwhile outside phases, except threads that run
  // autograd nodes. Covers a limited number of threads, which suffices for all uses.
  std::map<ThreadId, std::int64_t> elsewhere;
  // The class of the optimizer that Python's torch.optim steps, "AdamW"; "": unknown.
  std::string optimizer;
  double same_ops = 0;  // share of the steps with the most frequent sequence of ops
  // nullopt: shapes were not recorded.
  std::optional<double> same_shapes;  // the same for the shapes
  std::optional<double> single;       // of the ops on batches, the share with a batch of one

  // Whether (nearly) all steps have the same ops; and the same shapes, or none were recorded.
  [[nodiscard]] bool ops_are_same() const { return steps > 0 && same_ops >= kSame; }
  [[nodiscard]] bool shapes_are_same() const { return same_shapes.value_or(1) >= kSame; }
  static constexpr double kSame = 0.95;
};

// The first dimension of an op's first input, from "[[1,32,64],…]"; nothing if that has none.
std::optional<std::int64_t> leading_dimension(std::string_view shapes);

// Collects the facts of one loop. Thread safety: none.
class OpFactsReader {
 public:
  // `counts(step)`: whether it is a requested step. Both references outlive this.
  OpFactsReader(const Loop& loop, std::function<bool(std::size_t step)> counts,
                const std::function<std::string_view(StringId)>& text);

  // Each op of the loop's process, in the order of recording; those of threads that have a marked
  // loop of their own may be left out.
  void add(const Op& op, OpClass kind);
  [[nodiscard]] OpFacts finish() const;

 private:
  enum class Kind : std::uint8_t { kOther, kBatched, kBatchNorm, kAddition };
  struct StepOps {
    std::uint64_t ops = 0;     // hash of their names in the order of their ends; 0: none
    std::uint64_t shapes = 0;  // the same for their shapes
    std::int64_t first_sequence = -1;
    std::int64_t last_sequence = -1;
  };

  [[nodiscard]] std::size_t step_at(SessionTime time);
  [[nodiscard]] Kind kind_of(StringId name);
  void add_batch(StringId shapes);
  void add_elsewhere(const Op& op);
  void add_range(const Op& op);
  [[nodiscard]] double most_frequent(std::uint64_t StepOps::* hash) const;

  const Loop& loop_;
  std::function<bool(std::size_t)> counts_;
  const std::function<std::string_view(StringId)>& text_;
  std::vector<StepOps> steps_;
  std::vector<StringId> before_;  // the last op that ended at each depth
  std::unordered_map<std::uint32_t, Kind> kinds_;
  std::unordered_map<std::uint32_t, std::optional<std::int64_t>> batches_;  // by shapes
  std::int64_t batched_ = 0, single_ = 0;                                   // ops on batches
  bool shapes_ = false;
  std::set<ThreadId> autograd_;  // threads that run its nodes
  OpFacts facts_;
  std::size_t hint_ = 0;
};

}  // namespace stepscope
