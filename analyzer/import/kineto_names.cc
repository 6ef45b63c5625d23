#include "analyzer/import/kineto_names.h"

#include <algorithm>
#include <utility>

#include "analyzer/import/decimal.h"

namespace stepscope {
namespace {

constexpr std::pair<std::string_view, KinetoKind> kCategories[] = {
    {"cpu_op", KinetoKind::kOp},
    {"kernel", KinetoKind::kKernel},
    {"cuda_runtime", KinetoKind::kCall},
    {"cuda_driver", KinetoKind::kCall},
    {"ac2g", KinetoKind::kRedundant},
    {"fwdbwd", KinetoKind::kRedundant},
    {"python_function", KinetoKind::kPython},
    {"cpu_instant_event", KinetoKind::kRedundant},  // "[memory]" has been handled before
    {"user_annotation", KinetoKind::kAnnotation},
    {"gpu_memcpy", KinetoKind::kCopy},
    {"gpu_memset", KinetoKind::kMemset},
    {"cuda_sync", KinetoKind::kSync},
    {"gpu_user_annotation", KinetoKind::kRedundant},
    {"overhead", KinetoKind::kRedundant},
    {"cuda_event", KinetoKind::kRedundant},
    {"hardware_counters", KinetoKind::kRedundant},
    {"Trace", KinetoKind::kRedundant},
    {"async_cpu_to_gpu", KinetoKind::kRedundant},
    {"async_gpu", KinetoKind::kRedundant},
    {"forward_backward", KinetoKind::kRedundant},
    {"Operator", KinetoKind::kOp},
    {"Kernel", KinetoKind::kKernel},
    {"Runtime", KinetoKind::kCall},
    {"Memcpy", KinetoKind::kCopy},
    {"Memset", KinetoKind::kMemset},
    {"async", KinetoKind::kRedundant},
};

char folded(char c) {
  if (c == ' ') return '_';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// "Device Static" and "device_static" are the same.
bool same_words(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return folded(x) == folded(y); });
}

MemoryKind parse_memory_kind(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(MemoryKind::kManagedStatic); ++i) {
    if (same_words(name, memory_kind_name(static_cast<MemoryKind>(i))))
      return static_cast<MemoryKind>(i);
  }
  return MemoryKind::kUnknown;
}

CopyKind parse_copy_kind(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(CopyKind::kPeerToPeer); ++i) {
    if (same_words(name, copy_kind_name(static_cast<CopyKind>(i)))) return static_cast<CopyKind>(i);
  }
  return CopyKind::kUnknown;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

KinetoKind kineto_kind(std::string_view category) {
  for (const auto& [name, kind] : kCategories) {
    if (name == category) return kind;
  }
  // xpu_runtime, mtia_runtime, privateuse1_driver, …
  const bool call = category.ends_with("_runtime") || category.ends_with("_driver");
  return call ? KinetoKind::kCall : KinetoKind::kUnknown;
}

CopyName parse_copy_name(std::string_view name) {
  constexpr std::string_view kBefore = "Memcpy ";
  constexpr std::string_view kArrow = " -> ";
  CopyName copy;
  if (!name.starts_with(kBefore)) return copy;
  name.remove_prefix(kBefore.size());
  copy.kind = parse_copy_kind(name.substr(0, name.find(' ')));
  const std::size_t open = name.find('(');
  const std::size_t arrow = name.find(kArrow);
  const std::size_t close = name.rfind(')');
  if (open == std::string_view::npos || arrow == std::string_view::npos || arrow < open ||
      close == std::string_view::npos || close < arrow + kArrow.size()) {
    return copy;
  }
  const std::size_t target = arrow + kArrow.size();
  copy.source = parse_memory_kind(name.substr(open + 1, arrow - open - 1));
  copy.target = parse_memory_kind(name.substr(target, close - target));
  return copy;
}

SyncKind parse_sync_kind(std::string_view name) {
  constexpr std::pair<std::string_view, SyncKind> kNames[] = {
      {"Event Sync", SyncKind::kEvent},
      {"Stream Wait Event", SyncKind::kStreamWait},
      {"Stream Sync", SyncKind::kStream},
      {"Context Sync", SyncKind::kContext},
  };
  for (const auto& [text, kind] : kNames) {
    if (name.starts_with(text)) return kind;
  }
  return SyncKind::kUnknown;
}

std::optional<std::int64_t> profiler_step(std::string_view name) {
  constexpr std::string_view kBefore = "ProfilerStep#";
  return name.starts_with(kBefore) ? parse_integer(name.substr(kBefore.size())) : std::nullopt;
}

bool is_autograd_node(std::string_view name, std::int64_t forward_thread) {
  return forward_thread > 0 || name.starts_with("autograd::engine::evaluate_function: ") ||
         name == "torch::autograd::AccumulateGrad";
}

std::string_view own_thread_name(std::string_view name) {
  constexpr std::string_view kBefore = "thread ";
  if (!name.starts_with(kBefore) || !name.ends_with(')')) return name;
  const std::size_t digits_end =
      std::min(name.find_first_not_of("0123456789", kBefore.size()), name.size());
  if (digits_end == kBefore.size() || !name.substr(digits_end).starts_with(" (")) return name;
  return name.substr(digits_end + 2, name.size() - digits_end - 3);
}

std::optional<std::int64_t> rank_in_file_name(std::string_view name) {
  constexpr std::string_view kWord = "rank";
  for (std::size_t at = name.find(kWord); at != std::string_view::npos;
       at = name.find(kWord, at + 1)) {
    std::size_t from = at + kWord.size();
    while (from < name.size() && (name[from] == '_' || name[from] == '-' || name[from] == '.'))
      ++from;
    std::size_t to = from;
    while (to < name.size() && is_digit(name[to])) ++to;
    if (to > from) return parse_integer(name.substr(from, to - from));
  }
  return std::nullopt;
}

}  // namespace stepscope
