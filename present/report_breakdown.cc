#include "present/report_breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "analyzer/verdict/summary.h"
#include "analyzer/words.h"
#include "present/report_words.h"
#include "present/segment_words.h"

namespace stepscope {
namespace {

constexpr std::size_t kBarWidth = 16;

// "backward 0.71 · forward 0.55", the largest first, in the unit that `whole` is shown in.
std::string parts_text(const std::map<std::string, double>& parts, std::size_t most, double whole) {
  std::vector<std::pair<std::string, double>> sorted(parts.begin(), parts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [name, ns] : sorted) {
    if (texts.size() == most || ns < 0.5) break;
    texts.push_back(name + " " + time_text_like(ns, whole));
  }
  return join(texts, kDot);
}

std::string details(const LoopReport& loop, Category category, double whole) {
  std::map<std::string, double> parts;
  if (category == Category::kInput) {
    for (const OpRow& op : loop.ops) {
      if (op.phase == "input")
        parts[op.name] += static_cast<double>(op.self_ns) / loop.op_step_count();
    }
    if (loop.input.waits == 0) return "";
    std::string busy =
        loop.input.inferred ? "inferred" : "busy " + percent_text(loop.input.busy_share());
    if (loop.input.starved_share() >= 0.01)
      busy += kDot + std::string("no core ") + percent_text(loop.input.starved_share());
    const std::string ops = parts_text(parts, 2, whole);
    return ops.empty() ? busy : busy + kDot + ops;
  }
  for (const std::size_t i : loop.analysed) {
    for (const StepTime& time : loop.steps[i].times) {
      if (time.category != category) continue;
      const std::string name = !time.label.empty()              ? in_quotes(time.label)
                               : time.phase == PhaseKind::kNone ? "outside"
                                                                : phase_name(time.phase);
      parts[name] += static_cast<double>(to_ns(time.exposed)) / steps_of(loop);
    }
  }
  return parts.size() == 1 && category != Category::kOther && parts.contains("outside")
             ? ""
             : parts_text(parts, 3, whole);
}

// For a step, its phases. For a call, input, the model, and the scopes that the program labelled.
std::string phases_line(const LoopReport& loop) {
  const PhaseMeans& phases = loop.phases;
  std::vector<std::pair<std::string, double>> means = {{"input", phases.input}};
  if (loop.trains) {
    means.insert(means.end(), {{"forward", phases.forward},
                               {"backward", phases.backward},
                               {"optimizer", phases.optimizer},
                               {"other", phases.other}});
  } else {
    const CallMeans call = call_means(loop);
    means.emplace_back("model", call.model);
    for (const auto& [label, ns] : call.scopes) means.emplace_back(in_quotes(label), ns);
    means.emplace_back("other", call.other);
  }
  std::vector<std::string> texts;
  for (const auto& [name, ns] : means) texts.push_back(name + " " + time_text(ns));
  const std::string name = pad_right(loop.trains ? "phases" : "parts", 10);
  return cut("  " + name + join(texts, kDot), kPageWidth) + "\n";
}

// With gradient accumulation, the number of batches in a step.
std::string batches_line(const LoopReport& loop) {
  if (loop.batches_per_step <= 1 || !loop.trains) return "";
  const char* const what = loop.lacks_loader ? " backward passes a step" : " a step";
  return "  batches   " + std::to_string(loop.batches_per_step) + what + "\n";
}

// "scopes    "augment" 307 ms · "logging" 1.20 ms": per step, with all that runs inside them.
std::string scopes_line(const LoopReport& loop) {
  constexpr std::size_t kMax = 4;
  std::vector<std::string> texts;
  for (const ScopeRow& scope : loop.scopes) {
    if (texts.size() == kMax) break;
    const double ns = static_cast<double>(scope.total_ns) / steps_of(loop);
    texts.push_back(in_quotes(scope.name) + " " + time_text(ns));
  }
  return texts.empty() ? "" : cut("  scopes    " + join(texts, kDot), kPageWidth) + "\n";
}

// "run       training 76.5 % · evaluation 2.1 % (4 × 41.1 ms) · start-up 19.8 %"; "" for a run that
// only trains.
std::string run_line(const LoopReport& loop) {
  const RunUse& use = loop.run_use;
  if (use.segments.empty()) return "";
  const auto share = [&](std::int64_t ns) {
    return percent_text(static_cast<double>(ns) / static_cast<double>(use.run_ns));
  };
  const auto line = [&](bool with_times) {
    std::vector<std::string> parts = {"training " + share(use.training_ns)};
    for (const SegmentUse& segment : use.segments) {
      if (segment.run_share < 0.0005) continue;
      const auto each =
          time_text(static_cast<double>(segment.total_ns) / static_cast<double>(segment.count));
      const std::string times = segment.count == 1 ? "" : std::to_string(segment.count) + " × ";
      parts.push_back(segment_words(segment.kind) + std::string(" ") + share(segment.total_ns) +
                      (with_times ? " (" + times + each + ")" : ""));
    }
    parts.push_back("start-up " + share(use.startup_ns));
    return "  run       " + join(parts, kDot);
  };
  const std::string whole = line(true);
  return cut(width_of(whole) <= kPageWidth ? whole : line(false), kPageWidth) + "\n";
}

std::string padding_line(const LoopReport& loop) {
  const PaddingUse& use = loop.padding;
  if (use.batches == 0) return "";
  return "  samples   " + mean_text(use.batch_size()) + " a " + loop.unit() + kDot +
         percent_text(use.padding_share()) + " of what is computed is padding\n";
}

}  // namespace

std::string step_time_line(const LoopReport& loop, const Palette& palette) {
  const auto text_of = [](std::int64_t ns) { return time_text(static_cast<double>(ns)); };
  const WallStats& wall = loop.wall;
  return "  " + palette.bold(unit_text("step time ", loop) + text_of(wall.mean)) + "   p50 " +
         text_of(wall.p50) + "   p90 " + text_of(wall.p90) +
         (wall.p99 && !loop.trains ? "   p99 " + text_of(*wall.p99) : "") + "   min " +
         text_of(wall.min) + "   max " + text_of(wall.max) + "\n";
}

std::string cost_line(const LoopReport& loop, const Price& price) {
  const auto cost = cost_of(loop, price);
  if (!cost) return "";
  std::string line = fmt::format("  cost      {:.4g} for a million {}s, at {:.4g} an hour",
                                 1e6 * cost->per_sample.value_or(cost->per_step),
                                 cost->per_sample ? "sample" : loop.unit(), price.per_hour);
  if (cost->samples > 0) line += " and " + mean_text(cost->samples) + " samples a " + loop.unit();
  return line + "\n";
}

std::string category_lines(const LoopReport& loop) {
  std::vector<int> order(kCategoryCount);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return loop.shares[static_cast<std::size_t>(a)] > loop.shares[static_cast<std::size_t>(b)];
  });
  std::string text;
  for (const int index : order) {
    const auto category = static_cast<Category>(index);
    const double share = share_of(loop.shares, category);
    if (share < 0.0005) continue;
    const double ns = share * static_cast<double>(loop.wall.mean);
    std::string line = "    " + pad_right(category_name(category), 14) +
                       pad_left(time_text(ns), 8) + pad_left(percent_text(share), 9) + "  " +
                       pad_right(bar(share, kBarWidth), kBarWidth) + "  ";
    line += cut(details(loop, category, ns), kPageWidth - width_of(line));
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  return text;
}

std::string breakdown(const LoopReport& loop, const Palette& palette) {
  return step_time_line(loop, palette) + category_lines(loop) + phases_line(loop) +
         scopes_line(loop) + batches_line(loop) + run_line(loop) + padding_line(loop);
}

}  // namespace stepscope
