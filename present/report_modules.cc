#include "present/report_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "present/report_text.h"

namespace stepscope {
namespace {

constexpr std::size_t kCallsWidth = 8;
constexpr std::size_t kTimeWidth = 10;
constexpr std::size_t kShareWidth = 9;
constexpr std::size_t kMemoryWidth = 10;
constexpr std::size_t kNameWidth =
    kPageWidth - 2 - kCallsWidth - 2 * kTimeWidth - kShareWidth - kMemoryWidth;

// "2 attention (MultiheadAttention)", indented by its place in the tree.
std::string name_text(const ModuleTime& module) {
  const std::string_view name = module.name;
  const auto dots = static_cast<std::size_t>(std::ranges::count(name, '.'));
  const std::size_t depth = name.empty() ? 0 : dots + 1;
  const std::string own(name.empty() ? std::string_view(module.root)
                                     : name.substr(name.rfind('.') + 1));
  const bool says_more = !module.class_name.empty() && module.class_name != own;
  return std::string(2 * std::min<std::size_t>(depth, 12), ' ') + printable(own) +
         (says_more ? " (" + printable(module.class_name) + ")" : "");
}

// "1", "2.5"; "" for a module that is never called.
std::string calls_text(double calls) {
  if (calls <= 0) return "";
  const bool whole = std::abs(calls - std::round(calls)) < 0.005;
  return fmt::format("{:.{}f}", calls, whole ? 0 : 2);
}

std::string time_or_nothing(Duration time) {
  return time > Duration{0} ? time_text(static_cast<double>(to_ns(time))) : "";
}

std::string held_text(const ModuleTime& module) {
  if (!module.held_bytes || *module.held_bytes == 0) return "";
  const auto bytes = static_cast<double>(*module.held_bytes);
  return (bytes < 0 ? "-" : "") + bytes_text(std::abs(bytes));
}

std::string table(const LoopReport& loop, const Palette& palette) {
  std::string text =
      palette.bold("  " + pad_right("module", kNameWidth) + pad_left("calls", kCallsWidth) +
                   pad_left("forward", kTimeWidth) + pad_left("backward", kTimeWidth) +
                   pad_left(unit_text("of step", loop), kShareWidth) +
                   pad_left("memory", kMemoryWidth)) +
      "\n";
  for (const ModuleTime& module : loop.modules) {
    const auto ns = static_cast<double>(to_ns(module.forward + module.backward));
    const double share = loop.wall.mean > 0 ? ns / static_cast<double>(loop.wall.mean) : 0;
    text += "  " + pad_right(cut(name_text(module), kNameWidth - 1), kNameWidth) +
            pad_left(calls_text(module.calls), kCallsWidth) +
            pad_left(time_or_nothing(module.forward), kTimeWidth) +
            pad_left(time_or_nothing(module.backward), kTimeWidth) +
            pad_left(percent_text(share), kShareWidth) + pad_left(held_text(module), kMemoryWidth) +
            "\n";
  }
  return text;
}

std::string why_none(const LoopReport& loop) {
  if (!loop.ops_recorded)
    return "  no modules: they are recorded only in steps with ops, and no step has ops\n";
  return "  no modules were recorded: `stepscope run --modules` records the modules of Python "
         "programs\n"
         "  with torch 2.0 or newer that do not use torch.compile\n";
}

}  // namespace

std::string modules_text(const AnalysisReport& report, const Palette& palette) {
  std::string text;
  for (const LoopReport& loop : report.loops) {
    text += (text.empty() ? "" : "\n") + cut(run_header(report, &loop), kPageWidth) + "\n\n";
    if (loop.modules.empty()) {
      text += why_none(loop);
      continue;
    }
    text += table(loop, palette);
    text += "\n  " +
            palette.dim(in_units("means per step; memory: of tensors that outlive the forward pass",
                                 loop.unit())) +
            "\n";
  }
  return text;
}

}  // namespace stepscope
