#include "present/report_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/words.h"
#include "present/report_words.h"
#include "present/terminal_text.h"

namespace stepscope {
namespace {

constexpr double kSlow = 1.1;  // × p50: from here on a step is listed among the slowest

std::string one_decimal(double value) { return fmt::format("{:.1f}", value); }

// The heading of a column of calls: "calls a call" would be confusing.
const char* calls_text(const LoopReport& loop) {
  return loop.trains ? "calls a step" : "times a call";
}

std::string share_of_step(const LoopReport& loop, double ns) {
  return percent_text(ns / std::max(1.0, static_cast<double>(loop.wall.mean)));
}

// "yes", "no" or "–": whether a kernel uses tensor cores, judged by its name.
const char* known_text(const std::optional<bool>& known) {
  if (!known) return "–";
  return *known ? "yes" : "no";
}

// What a slow step spent more on than the average step: "+5.02 ms in \"checkpoint\"".
std::string excess(const LoopReport& loop, const Step& step) {
  std::map<std::string, double> more;
  const auto add = [&more](const Step& from, double weight) {
    for (const StepTime& time : from.times) {
      const std::string name =
          !time.label.empty()
              ? in_quotes(time.label)
              : std::string(category_name(time.category)) +
                    (time.phase == PhaseKind::kNone || time.phase == PhaseKind::kInput
                         ? ""
                         : std::string(" in ") + phase_name(time.phase));
      more[name] += weight * static_cast<double>(to_ns(time.exposed));
    }
  };
  add(step, 1);
  for (const std::size_t i : loop.analysed) add(loop.steps[i], -1 / steps_of(loop));
  std::vector<std::pair<std::string, double>> sorted(more.begin(), more.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [name, ns] : sorted) {
    if (texts.size() == 2 || ns < 0.02 * static_cast<double>(to_ns(step.dur))) break;
    texts.push_back("+" + time_text(ns) + " " + name);
  }
  return texts.empty() ? "like the others" : join(texts, kDot);
}

}  // namespace

std::string slowest_steps(const LoopReport& loop, int top) {
  std::vector<std::size_t> order = loop.analysed;
  std::erase_if(order, [&](std::size_t i) {
    return static_cast<double>(to_ns(loop.steps[i].dur)) <
           kSlow * static_cast<double>(loop.wall.p50);
  });
  if (order.empty())
    return unit_text("\n  slowest steps   none took much longer than the others\n", loop);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return loop.steps[a].dur > loop.steps[b].dur;
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::clamp(top, 1, 3))));
  std::string text =
      "\n  " + pad_right(unit_text("slowest steps", loop), 36) + "against the average\n";
  for (const std::size_t i : order) {
    const Step& step = loop.steps[i];
    const std::string line = "    " + pad_right("#" + std::to_string(step.number), 12) +
                             pad_left(time_text(static_cast<double>(to_ns(step.dur))), 9) +
                             std::string(13, ' ');
    text += line + cut(excess(loop, step), kPageWidth - width_of(line)) + "\n";
  }
  return text;
}

std::string top_ops(const LoopReport& loop, int top, bool whole) {
  if (loop.ops.empty() || top < 1) return "";
  std::string text = "\n  " + pad_right("top ops by self time", 46) + pad_right("phase", 12) +
                     pad_left(whole ? "in all" : unit_text("a step", loop), 10) +
                     pad_left(whole ? "of all" : unit_text("of step", loop), 10) +
                     pad_left(whole ? "calls" : calls_text(loop), 16) + "\n";
  for (std::size_t i = 0; i < std::min(loop.ops.size(), static_cast<std::size_t>(top)); ++i) {
    const OpRow& op = loop.ops[i];
    const double ns = static_cast<double>(op.self_ns) / loop.op_step_count();
    text += "    " + pad_right(cut(op.name, 43), 44) +
            pad_right(op.phase == "none" ? "outside" : op.phase, 12) + pad_left(time_text(ns), 10) +
            pad_left(share_of_step(loop, ns), 10) +
            pad_left(one_decimal(static_cast<double>(op.calls) / loop.op_step_count()), 16) + "\n";
  }
  return text;
}

std::string top_kernels(const LoopReport& loop, int top) {
  if (loop.kernels.empty() || top < 1) return "";
  std::string text = "\n  " + pad_right("top kernels", 37) + pad_right("phase", 10) +
                     pad_left(unit_text("a step", loop), 9) +
                     pad_left(unit_text("of step", loop), 9) + pad_left(calls_text(loop), 14) +
                     pad_left("occupancy", 11) + pad_left("tensor", 8) + "\n";
  for (std::size_t i = 0; i < std::min(loop.kernels.size(), static_cast<std::size_t>(top)); ++i) {
    const KernelRow& kernel = loop.kernels[i];
    const double ns = static_cast<double>(kernel.total_ns) / steps_of(loop);
    text += "    " + pad_right(cut(kernel_title(kernel.name), 34), 35) +
            pad_right(kernel.phase == "none" ? "outside" : kernel.phase, 10) +
            pad_left(time_text(ns), 9) + pad_left(share_of_step(loop, ns), 9) +
            pad_left(one_decimal(static_cast<double>(kernel.calls) / steps_of(loop)), 14) +
            pad_left(kernel.occupancy ? percent_text(*kernel.occupancy) : "–", 11) +
            pad_left(known_text(kernel.tensor_cores), 8) + "\n";
  }
  return text;
}

std::string copies_table(const LoopReport& loop, int top) {
  if (loop.copies.empty() || top < 1) return "";
  std::string text = "\n  " + pad_right("copies", 29) + pad_left("stream", 8) +
                     pad_left(unit_text("a step", loop), 9) +
                     pad_left(unit_text("of step", loop), 9) + pad_left(calls_text(loop), 14) +
                     pad_left(unit_text("MB a step", loop), 11) + pad_left("GB/s", 8) +
                     pad_left("behind", 10) + "\n";
  for (std::size_t i = 0; i < std::min(loop.copies.size(), static_cast<std::size_t>(top)); ++i) {
    const CopyRow& copy = loop.copies[i];
    const double ns = static_cast<double>(copy.total_ns) / steps_of(loop);
    const double whole = std::max(1.0, static_cast<double>(copy.total_ns));
    const std::string title = std::string(copy_kind_name(copy.kind)) + " " +
                              memory_kind_name(copy.source) + " → " + memory_kind_name(copy.target);
    text += "    " + pad_right(cut(title, 26), 27) + pad_left(std::to_string(copy.stream), 8) +
            pad_left(time_text(ns), 9) + pad_left(share_of_step(loop, ns), 9) +
            pad_left(one_decimal(static_cast<double>(copy.calls) / steps_of(loop)), 14) +
            pad_left(one_decimal(static_cast<double>(copy.bytes) / 1e6 / steps_of(loop)), 11) +
            pad_left(one_decimal(static_cast<double>(copy.bytes) / whole), 8) +
            pad_left(percent_text(static_cast<double>(copy.kernel_ns) / whole), 10) + "\n";
  }
  return text + "    (behind: share of the copy time during which a kernel ran on the device)\n";
}

}  // namespace stepscope
