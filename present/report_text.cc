#include "present/report_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/losses.h"
#include "analyzer/printable.h"
#include "analyzer/verdict/summary.h"
#include "analyzer/words.h"
#include "present/terminal_text.h"

namespace stepscope {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kBarWidth = 16;
constexpr double kSlow = 1.1;           // × p50: from here on a step is listed among the slowest
constexpr std::size_t kWholePages = 2;  // loops after these get their verdict only
constexpr const char* kDot = " · ";

std::string one_decimal(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string join(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// A phrase of the page, told of calls where the loop's steps are calls.
std::string unit_text(const char* phrase, const LoopReport& loop) {
  return in_units(phrase, loop.unit());
}

// What a column of calls is headed: "calls a call" would puzzle.
const char* calls_text(const LoopReport& loop) {
  return loop.trains ? "calls a step" : "times a call";
}

double steps_of(const LoopReport& loop) {
  return static_cast<double>(std::max<std::size_t>(loop.analysed.size(), 1));
}

// "500–520 of 938", "2–938 of 938"
std::string step_range(const LoopReport& loop) {
  const std::int64_t first = loop.steps[loop.analysed.front()].number;
  const std::int64_t last = loop.steps[loop.analysed.back()].number;
  const std::string range = first == last ? unit_text("step ", loop) + std::to_string(first)
                                          : unit_text("steps ", loop) + std::to_string(first) +
                                                "–" + std::to_string(last);
  const std::int64_t begin = loop.steps.front().number;
  return range + " of " + (begin == 1 ? "" : std::to_string(begin) + "–") +
         std::to_string(loop.steps.back().number);
}

// "cuda:0 Tesla V100-DGXS-32GB"
std::string device_text(const LoopReport& loop) {
  return "cuda:" + std::to_string(loop.device_number) + " " + loop.device_name;
}

// The process that trains; one that only starts others has no loop.
std::string program_name(const AnalysisReport& report, const LoopReport* loop) {
  for (const ProcessReport& process : report.processes) {
    if (loop == nullptr || process.id == loop->process) return process.name;
  }
  return "a run";
}

// How the recording ended early, and how processes died, the first to die first; it is the news.
std::string death_lines(const AnalysisReport& report, const Palette& palette) {
  constexpr std::size_t kMost = 4;
  std::string text;
  if (!report.gap.empty()) {
    for (const std::string& line : wrap(report.gap, kWidth - 2))
      text += "  " + palette.red(line) + "\n";
  }
  for (std::size_t i = 0; i < std::min(kMost, report.deaths.size()); ++i) {
    for (const std::string& line : wrap(report.deaths[i], kWidth - 2))
      text += "  " + palette.red(line) + "\n";
  }
  if (report.deaths.size() > kMost)
    text += "  and " + std::to_string(report.deaths.size() - kMost) + " more processes died\n";
  const auto of_memory = [](const ProcessReport& process) { return process.of_memory; };
  if (std::any_of(report.processes.begin(), report.processes.end(), of_memory))
    text += "  the largest that fits:  stepscope sweep -p batch=8,16,32,64 -- PROGRAM … {batch}\n";
  return text.empty() ? "" : "\n" + text;
}

std::string rank_lines(const AnalysisReport& report, const Palette& palette) {
  if (!report.ranks) return "";
  std::string text = "\n";
  for (const std::string& line : wrap(report.ranks->sentence, kWidth - 2))
    text += "  " + (report.ranks->straggler ? palette.yellow(line) : line) + "\n";
  return text;
}

std::string verdict_lines(const LoopReport& loop, const Palette& palette) {
  const Verdict& verdict = loop.verdict;
  const std::string title =
      upper(verdict.degree.empty() ? verdict.kind : verdict.degree + " " + verdict.kind);
  const std::string painted = verdict.degree == "highly"        ? palette.red(title)
                              : verdict.degree == "moderately"  ? palette.yellow(title)
                              : verdict.kind == "compute-bound" ? palette.green(title)
                                                                : palette.bold(title);
  std::array<char, 96> interval{};
  std::snprintf(interval.data(), interval.size(), "(95 %% CI %.1f–%.1f, confidence %s)",
                verdict.ci_low * 100, verdict.ci_high * 100, verdict.confidence.c_str());
  const std::string share = percent_text(verdict.share) + " " + loop.clause;
  std::string text = "  " + painted + "   " + share;
  const bool fits = width_of(title) + width_of(share) + width_of(interval.data()) + 8 <= kWidth;
  text += (fits ? "   " : "\n  ") + std::string(interval.data()) + "\n";
  for (const std::string& line : wrap(join(loop.reasons, " "), kWidth - 2))
    text += "  " + line + "\n";
  if (!loop.doubts.empty()) {
    const std::string doubts = "Not more certain because: " + join(loop.doubts, ", ") + ".";
    for (const std::string& line : wrap(doubts, kWidth - 2))
      text += "  " + palette.dim(line) + "\n";
  }
  return text;
}

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
      if (op.phase == "input") parts[op.name] += static_cast<double>(op.self_ns) / steps_of(loop);
    }
    if (loop.input.waits == 0) return "";
    const std::string busy =
        loop.input.inferred ? "inferred" : "busy " + percent_text(loop.input.busy_share());
    const std::string ops = parts_text(parts, 2, whole);
    return ops.empty() ? busy : busy + kDot + ops;
  }
  for (const std::size_t i : loop.analysed) {
    for (const StepTime& time : loop.steps[i].times) {
      if (time.category != category) continue;
      const std::string name = category == Category::kOther     ? in_quotes(time.label)
                               : time.phase == PhaseKind::kNone ? "outside"
                                                                : phase_name(time.phase);
      parts[name] += static_cast<double>(to_ns(time.exposed)) / steps_of(loop);
    }
  }
  return parts.size() == 1 && category != Category::kOther && parts.contains("outside")
             ? ""
             : parts_text(parts, 3, whole);
}

std::string step_time_line(const LoopReport& loop, const Palette& palette) {
  const auto text_of = [](std::int64_t ns) { return time_text(static_cast<double>(ns)); };
  const WallStats& wall = loop.wall;
  return "  " + palette.bold(unit_text("step time ", loop) + text_of(wall.mean)) + "   p50 " +
         text_of(wall.p50) + "   p90 " + text_of(wall.p90) +
         (wall.p99 && !loop.trains ? "   p99 " + text_of(*wall.p99) : "") + "   min " +
         text_of(wall.min) + "   max " + text_of(wall.max) + "\n";
}

// Of a step its phases; of a call, input against the model, and the scopes that the program
// labelled.
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
  return cut("  " + pad_right(loop.trains ? "phases" : "parts", 10) + join(texts, kDot), kWidth) +
         "\n";
}

std::string padding_line(const LoopReport& loop) {
  const PaddingUse& use = loop.padding;
  if (use.batches == 0) return "";
  return "  samples   " + mean_text(use.batch_size()) + " a " + loop.unit() + kDot +
         percent_text(use.padding_share()) + " of what is computed is padding\n";
}

// "cost      12.6 for a million samples, at 1.20 an hour and 16 samples a call"
std::string cost_line(const LoopReport& loop, const Price& price) {
  const auto cost = cost_of(loop, price);
  if (!cost) return "";
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "  cost      %.4g for a million %ss, at %.4g an hour",
                1e6 * cost->per_sample.value_or(cost->per_step),
                cost->per_sample ? "sample" : loop.unit(), price.per_hour);
  std::string line = text.data();
  if (cost->samples > 0) line += " and " + mean_text(cost->samples) + " samples a " + loop.unit();
  return line + "\n";
}

std::string breakdown(const LoopReport& loop, const Palette& palette) {
  std::vector<int> order(kCategoryCount);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return loop.shares[static_cast<std::size_t>(a)] > loop.shares[static_cast<std::size_t>(b)];
  });
  std::string text = step_time_line(loop, palette);
  for (const int index : order) {
    const auto category = static_cast<Category>(index);
    const double share = share_of(loop.shares, category);
    if (share < 0.0005) continue;
    const double ns = share * static_cast<double>(loop.wall.mean);
    std::string line = "    " + pad_right(category_name(category), 14) +
                       pad_left(time_text(ns), 8) + pad_left(percent_text(share), 9) + "  " +
                       pad_right(bar(share, kBarWidth), kBarWidth) + "  ";
    line += cut(details(loop, category, ns), kWidth - width_of(line));
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  return text + phases_line(loop) + padding_line(loop);
}

// "highly input-bound", where the run is something else.
std::string other_verdict(const LoopReport& loop, const Bottleneck& bottleneck) {
  if (bottleneck.kind == loop.verdict.kind) return "";
  return (bottleneck.degree.empty() ? "" : bottleneck.degree + " ") + bottleneck.kind;
}

std::string populations(const LoopReport& loop) {
  if (loop.populations.size() < 2) return "";
  std::string text = unit_text("\n  kinds of step\n", loop);
  for (const Population& kind : loop.populations) {
    const std::string line = pad_left(count_text(kind.steps), 8) + " ×" +
                             pad_left(time_text(static_cast<double>(kind.mean_ns)), 9) +
                             pad_left(percent_text(kind.share), 9) + " of all time   ";
    const std::string verdict = other_verdict(loop, kind.bottleneck);
    text += "  " + line + cut(kind.label, kWidth - 2 - width_of(line)) + "\n";
    if (!verdict.empty()) text += "  " + std::string(width_of(line), ' ') + verdict + "\n";
  }
  return text;
}

std::string advice_table(const LoopReport& loop) {
  if (!loop.replay.withheld.empty()) {
    std::string text = "\n";
    for (const std::string& line :
         wrap("No predictions: " + loop.replay.withheld + ".", kWidth - 2))
      text += "  " + line + "\n";
    return text;
  }
  if (loop.verdict.advice.empty()) return "";
  constexpr std::size_t kBecause = 58;
  std::string text = "\n  " + pad_right("what would help", 36) +
                     pad_right(unit_text("step would take", loop), 20) + "because\n";
  for (const Advice& advice : loop.verdict.advice) {
    const double predicted = static_cast<double>(advice.predicted_step_ns);
    std::array<char, 32> factor{};
    std::snprintf(factor.data(), factor.size(), "  (%.1f ×)",
                  static_cast<double>(loop.wall.mean) / std::max(predicted, 1.0));
    const std::string gain =
        advice.saves_ns > 0 ? time_text(predicted) + factor.data() : "not predicted";
    std::string line = "    " + pad_right(cut(advice.title, 33), 34) + pad_right(gain, 20);
    for (const std::string& because : wrap(advice.why, kWidth - kBecause)) {
      text += line + because + "\n";
      line = std::string(kBecause, ' ');
    }
  }
  return text;
}

// What a slow step spent more on than the average step: "+5.02 ms in \"checkpoint\"".
std::string excess(const LoopReport& loop, const Step& step) {
  std::map<std::string, double> more;
  const auto add = [&more](const Step& from, double weight) {
    for (const StepTime& time : from.times) {
      const std::string name =
          time.category == Category::kOther
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
    text += line + cut(excess(loop, step), kWidth - width_of(line)) + "\n";
  }
  return text;
}

std::string share_of_step(const LoopReport& loop, double ns) {
  return percent_text(ns / std::max(1.0, static_cast<double>(loop.wall.mean)));
}

std::string top_ops(const LoopReport& loop, int top) {
  if (loop.ops.empty() || top < 1) return "";
  std::string text = "\n  " + pad_right("top ops by self time", 46) + pad_right("phase", 12) +
                     pad_left(unit_text("a step", loop), 10) +
                     pad_left(unit_text("of step", loop), 10) + pad_left(calls_text(loop), 16) +
                     "\n";
  for (std::size_t i = 0; i < std::min(loop.ops.size(), static_cast<std::size_t>(top)); ++i) {
    const OpRow& op = loop.ops[i];
    const double ns = static_cast<double>(op.self_ns) / steps_of(loop);
    text += "    " + pad_right(cut(op.name, 43), 44) +
            pad_right(op.phase == "none" ? "outside" : op.phase, 12) + pad_left(time_text(ns), 10) +
            pad_left(share_of_step(loop, ns), 10) +
            pad_left(one_decimal(static_cast<double>(op.calls) / steps_of(loop)), 16) + "\n";
  }
  return text;
}

// "yes", "no" or "–": what the name of a kernel says of tensor cores.
const char* known_text(const std::optional<bool>& known) {
  if (!known) return "–";
  return *known ? "yes" : "no";
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
  return text + "    (behind: of the time, while a kernel ran on the device)\n";
}

std::string left_out(const LoopReport& loop) {
  const auto steady = std::count_if(loop.analysed.begin(), loop.analysed.end(),
                                    [&](std::size_t i) { return loop.steps[i].steady; });
  if (loop.warm_up == 0 || steady == 0) return "";
  std::int64_t ns = 0;
  for (std::int64_t i = 0; i < loop.warm_up; ++i)
    ns += to_ns(loop.steps[static_cast<std::size_t>(i)].dur);
  const std::int64_t begin = loop.steps.front().number;
  const std::string which = loop.warm_up == 1 ? unit_text("step ", loop) + std::to_string(begin)
                                              : unit_text("steps ", loop) + std::to_string(begin) +
                                                    "–" + std::to_string(begin + loop.warm_up - 1);
  return "\n  left out   " + which + " (warm-up, " + time_text(static_cast<double>(ns)) + ")\n";
}

// "tensors   at most 640 MB, in step 412: forward 400 MB, other 200 MB"
std::string tensors_line(const AnalysisReport& report, const LoopReport& loop) {
  for (const ProcessReport& process : report.processes) {
    if (process.id != loop.process || !process.tensors) continue;
    const HeldTensors& peak = process.tensors->peak;
    std::string text = "  tensors   at most " + bytes_text(peak.bytes);
    if (process.peak_step > 0)
      text += unit_text(", in step ", loop) + std::to_string(process.peak_step);
    return cut(text + ": " + owners_text(peak), kWidth) + "\n";
  }
  return "";
}

std::string loop_page(const AnalysisReport& report, const LoopReport& loop,
                      const TextOptions& options, const Palette& palette) {
  return verdict_lines(loop, palette) + "\n" + breakdown(loop, palette) +
         tensors_line(report, loop) + cost_line(loop, options.price) + populations(loop) +
         advice_table(loop) + slowest_steps(loop, options.top) + top_kernels(loop, options.top) +
         copies_table(loop, options.top) + top_ops(loop, options.top) + left_out(loop);
}

std::string loop_title(const AnalysisReport& report, std::size_t index) {
  const LoopReport& loop = report.loops[index];
  const std::string rank = loop.rank >= 0 ? "rank " + std::to_string(loop.rank) + kDot : "";
  return cut("loop " + std::to_string(index + 1) + " of " + std::to_string(report.loops.size()) +
                 kDot + rank + "process " + std::to_string(loop.pid) + kDot + "thread " +
                 std::to_string(loop.tid) + " " + loop.thread_name + kDot +
                 (loop.device == DeviceId::kNone ? "" : device_text(loop) + kDot) +
                 step_range(loop),
             kWidth) +
         "\n";
}

// What there is too much of to be told one by one.
std::string limit_lines(const AnalysisReport& report) {
  std::int64_t names = 0;
  for (const LoopReport& loop : report.loops)
    names = std::max(names, loop.merged_ops + loop.merged_kernels);
  std::string text;
  if (report.loops_left_out > 0)
    text += "  " + std::to_string(report.loops_left_out) + " shorter loops were left out\n";
  if (report.processes_left_out > 0) {
    text += "  " + std::to_string(report.processes_left_out) +
            " processes without a loop were left out\n";
  }
  if (names > 0) {
    text += "  " + std::to_string(names) +
            " names share rows of the tables: op_stats in the store has each\n";
  }
  return text.empty() ? "" : "\n" + text;
}

std::string next_lines(const TextOptions& options) {
  const std::string store = printable(options.store);
  if (options.imported) {
    return "\n  next   stepscope import " + store + " -o run.db\n" +
           "         keeps it, to query and to export\n";
  }
  return "\n  next   stepscope view " + store + "\n         stepscope export " + store +
         " -o trace.json.gz\n         sqlite3 " + store + " \"select * from step_breakdown\"\n";
}

}  // namespace

std::string run_header(const AnalysisReport& report, const LoopReport* loop) {
  std::vector<std::string> parts;
  parts.push_back(program_name(report, loop));
  if (loop != nullptr) parts.push_back(step_range(*loop));
  if (!report.run.torch_version.empty()) parts.push_back("libtorch " + report.run.torch_version);
  if (loop != nullptr && loop->device != DeviceId::kNone)
    parts.push_back(cut(device_text(*loop), 40));
  if (report.run.cpu_count > 0) {
    parts.push_back(std::to_string(report.run.cpu_count) +
                    (report.run.cpu_count == 1 ? " core" : " cores"));
  }
  if (report.run.being_recorded) parts.push_back("still being recorded");
  parts.push_back(losses_text(report.losses, report.run.is_incomplete()));
  return join(parts, kDot);
}

std::string text_report(const AnalysisReport& report, const TextOptions& options) {
  const Palette palette{options.color};
  if (report.loops.empty()) {
    std::string text =
        cut(run_header(report, nullptr), kWidth) + "\n\n  " + palette.bold("NO STEPS") + "\n";
    for (const std::string& line : wrap(report.no_steps, kWidth - 2)) text += "  " + line + "\n";
    return text;
  }
  std::string text = cut(run_header(report, &report.loops.front()), kWidth) + "\n" +
                     death_lines(report, palette) + rank_lines(report, palette);
  for (std::size_t i = 0; i < report.loops.size(); ++i) {
    const LoopReport& loop = report.loops[i];
    text += "\n";
    if (report.loops.size() > 1) text += loop_title(report, i);
    text += i < kWholePages ? loop_page(report, loop, options, palette)
                            : verdict_lines(loop, palette) + step_time_line(loop, palette);
  }
  return text + limit_lines(report) + next_lines(options);
}

}  // namespace stepscope
