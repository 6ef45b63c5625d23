#include "analyzer/attribute/op_class.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

// c10d's dispatcher ops, and the ranges its back ends open ("nccl:all_reduce").
constexpr std::array<std::string_view, 6> kCommunicationPrefixes = {
    "c10d::", "_c10d_functional::", "nccl:", "gloo:", "mpi:", "ucc:"};

// User-scope ranges that torch's Python side opens by itself: a phase stands for each where it
// matters.
constexpr std::array<std::string_view, 4> kTransparentPrefixes = {
    "Optimizer.step#", "Optimizer.zero_grad#", "enumerate(DataLoader)#", "ProfilerStep#"};

bool starts_with_any(std::string_view name, auto prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

OpClass op_class(std::string_view name, OpScope scope) {
  if (starts_with_any(name, kCommunicationPrefixes)) return OpClass::kCommunication;
  if (scope != OpScope::kUser) return OpClass::kWork;
  return starts_with_any(name, kTransparentPrefixes) ? OpClass::kTransparent : OpClass::kLabel;
}

OpClass OpClasses::of(const Op& op) {
  const std::uint64_t key = static_cast<std::uint64_t>(op.name) * 2 + (op.scope == OpScope::kUser);
  const auto [it, added] = known_.try_emplace(key, OpClass::kWork);
  if (added) it->second = op_class(text_(op.name), op.scope);
  return it->second;
}

}  // namespace stepscope
