#include "present/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/words.h"
#include "present/comparison_cost.h"
#include "present/comparison_notes.h"
#include "present/comparison_words.h"
#include "present/report_text.h"
#include "present/terminal_text.h"

namespace stepscope {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kWholePages = 2;  // of the loops after these, only the answer is shown

std::string painted_answer(const LoopComparison& loop, const Palette& palette) {
  const std::string answer = answer_of(loop), change = change_of(loop);
  return change == "faster"   ? palette.green(answer)
         : change == "slower" ? palette.red(answer)
                              : palette.bold(answer);
}

// "  A  before.db   mnist · steps 2–938 of 938 · …"; on two lines if that is too long.
std::string run_lines(const ComparisonView& view, const LoopComparison& loop) {
  constexpr std::size_t kIndent = 5;
  const auto facts = [](const ComparedRun& run, std::size_t index) {
    return run_header(run.report, &run.report.loops[index], kWidth - kIndent);
  };
  const std::string facts_a = facts(view.a, loop.a), facts_b = facts(view.b, loop.b);
  const std::size_t path = std::max(width_of(view.a.path), width_of(view.b.path));
  const bool fits = kIndent + path + 3 + std::max(width_of(facts_a), width_of(facts_b)) <= kWidth;
  const auto line = [&](const char* name, const std::string& from, const std::string& text) {
    const std::string begin = std::string("  ") + name + "  ";
    if (fits) return begin + pad_right(cut(from, path), path) + "   " + text + "\n";
    return begin + cut(from, kWidth - kIndent) + "\n" + std::string(kIndent, ' ') +
           cut(text, kWidth - kIndent) + "\n";
  };
  return line("A", view.a.path, facts_a) + line("B", view.b.path, facts_b);
}

std::string paragraph(const std::string& text, const char* first, const char* next) {
  std::string result;
  for (const std::string& line : wrap(text, kWidth - width_of(first)))
    result += (result.empty() ? first : next) + line + "\n";
  return result;
}

std::string reason_lines(const LoopComparison& loop) {
  std::string text;
  for (const std::string& reason : reasons_of(loop)) text += paragraph(reason, "  ", "  ");
  return text.empty() ? "" : "\n" + text;
}

std::string note_lines(const ComparisonView& view, const Palette& palette) {
  std::string text;
  for (const Note& note : view.comparison.notes) {
    const std::string sentence = note_text(note, view.a.report, view.b.report, view.comparison);
    std::string lines = paragraph(sentence, "  note   ", "         ");
    lines.replace(lines.find("note"), 4, palette.yellow("note"));
    text += lines;
  }
  return text.empty() ? "" : "\n" + text;
}

std::string time_cell(double ns) { return ns > 0 ? time_text(ns) : "–"; }

std::string verdict_of(const Difference& difference) {
  if (!difference.is_known()) return "unknown";
  return difference.changed ? "" : "noise";
}

// A, B, the difference and its interval: 54 characters.
std::string time_cells(const Difference& d) {
  return pad_left(time_cell(d.a.value), 10) + pad_left(time_cell(d.b.value), 10) +
         pad_left(signed_time_text(d.delta()), 11) +
         pad_left(d.is_known() ? time_interval_text(d.interval) : "", 23);
}

// Removes the blanks at the end of the line.
std::string line_of(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string table_row(const std::string& name, const Difference& ns, const std::string& share,
                      const Palette& palette) {
  const std::string line = "  " + pad_right(name, 13) + time_cells(ns) + pad_left(share, 18) + "  ";
  const std::string verdict = verdict_of(ns);
  return line_of(line + (verdict.empty() ? "" : palette.dim(verdict)));
}

std::string share_text(const Difference& share) {
  return fmt::format("{:.1f} → {:.1f} %", share.a.value * 100, share.b.value * 100);
}

std::string part_rows(const std::vector<PartDifference>& parts, const Palette& palette) {
  std::string text;
  for (const PartDifference& part : parts) {
    if (part.ns.a.value <= 0 && part.ns.b.value <= 0) continue;
    text += table_row("  " + part.name, part.ns, share_text(part.share), palette);
  }
  return text;
}

std::string tables(const LoopComparison& loop, const Palette& palette) {
  std::string text =
      "\n" + line_of("  " + pad_right("", 13) + pad_left("A", 10) + pad_left("B", 10) +
                     pad_left("difference", 11) + pad_left("interval", 23) +
                     pad_left(in_units("of the step", loop.unit), 18));
  text += table_row(in_units("step time", loop.unit), loop.mean, "", palette);
  text += table_row("  p50", loop.median, "", palette);
  if (loop.sample) text += table_row("  a sample", *loop.sample, "", palette);
  text += "  categories\n" + part_rows(loop.categories, palette);
  text += "  phases\n" + part_rows(loop.phases, palette);
  return text;
}

std::string calls_cell(const CallDifference& call) {
  const double a = call.calls.a.value, b = call.calls.b.value;
  const auto digits = [](double value) {
    return value >= 9.95 || value == std::floor(value) ? 0 : 1;
  };
  const std::string before = fmt::format("{:.{}f}", a, digits(a));
  return call.calls.changed ? fmt::format("{} → {:.{}f}", before, b, digits(b)) : before;
}

// "18 of 74 changed, 4 of them by less than 0.1 % of the step; the others are noise"
std::string changed_text(std::size_t all, std::size_t changed, std::size_t matter,
                         const std::string& unit) {
  const auto number = [](std::size_t value) {
    return count_text(static_cast<std::int64_t>(value));
  };
  if (changed == 0) return "none of " + number(all) + " changed beyond noise";
  const std::string trifles =
      matter == changed ? ""
                        : (matter == 0 ? ", by" : ", " + number(changed - matter) + " of them by") +
                              (" less than " + percent_text(kTrifle)) + " of the " + unit;
  return number(changed) + " of " + number(all) + " changed" + trifles +
         (changed == all ? "" : "; the others are noise");
}

// `what`: "op", "kernel". `title`: the heading of the table.
std::string call_rows(const std::vector<CallDifference>& calls, const std::string& what,
                      const std::string& title, const std::string& unit, int top) {
  if (calls.empty()) return "";
  const auto count = [&](bool (CallDifference::*quality)() const) {
    return static_cast<std::size_t>(std::count_if(
        calls.begin(), calls.end(), [&](const CallDifference& call) { return (call.*quality)(); }));
  };
  const std::size_t changed = count(&CallDifference::changed);
  const std::size_t matter = count(&CallDifference::matters);
  const std::string summary = changed_text(calls.size(), changed, matter, unit);
  if (matter == 0) return "\n  " + what + "s   " + summary + "\n";
  if (top < 1) return "";
  constexpr std::size_t kName = 24;
  std::string text =
      "\n" + line_of("  " + pad_right(title, kName) + pad_right("phase", 10) + pad_left("A", 9) +
                     pad_left("B", 10) + pad_left("difference", 11) + pad_left("interval", 23) +
                     pad_left("calls", 11));
  const std::size_t listed = std::min(matter, static_cast<std::size_t>(top));
  for (std::size_t i = 0; i < listed; ++i) {
    const CallDifference& call = calls[i];
    const std::string cells = time_cells(call.ns).substr(1);
    text += line_of("    " + pad_right(cut(kernel_title(call.name), kName - 3), kName - 2) +
                    pad_right(call.phase == "none" ? "outside" : call.phase, 10) + cells +
                    pad_left(calls_cell(call), 11));
  }
  return text + "    " + summary + "\n";
}

// For a line of the loop thread, the column `where` has its phase. A worker's lines count only
// while the loop waits for its batch.
std::string line_rows(const LoopComparison& loop, int top) {
  constexpr std::size_t kName = 36;
  const auto count = [&](auto quality) {
    return static_cast<std::size_t>(std::ranges::count_if(loop.lines, quality));
  };
  const std::size_t changed = count([](const LineDifference& line) { return line.ns.changed; });
  const std::size_t matter = count([](const LineDifference& line) { return line.matters(); });
  if (loop.lines.empty()) return "";
  const std::string summary = changed_text(loop.lines.size(), changed, matter, loop.unit);
  if (matter == 0) return "\n  lines of your code   " + summary + "\n";
  if (top < 1) return "";
  std::string text = "\n" + line_of("  " + pad_right("lines of your code", kName) +
                                    pad_right("where", 10) + pad_left("A", 9) + pad_left("B", 10) +
                                    pad_left("difference", 11) + pad_left("interval", 23));
  for (std::size_t i = 0; i < std::min(matter, static_cast<std::size_t>(top)); ++i) {
    const LineDifference& line = loop.lines[i];
    const bool worker = line.place == LinePlace::kWorker;
    text +=
        line_of("    " + pad_right(cut(line_text(line), kName - 3), kName - 2) +
                pad_right(worker ? "worker" : line.category, 10) + time_cells(line.ns).substr(1));
  }
  return text + "    " + summary + "\n";
}

std::string loop_page(const LoopComparison& loop, int top, const Palette& palette) {
  return reason_lines(loop) + tables(loop, palette) + line_rows(loop, top) +
         call_rows(loop.kernels, "kernel", "kernels by time", loop.unit, top) +
         call_rows(loop.calls, "op", "ops by self time", loop.unit, top);
}

std::string loop_name(const ComparisonView& view, std::size_t index) {
  const LoopComparison& loop = view.comparison.loops[index];
  const LoopReport& a = view.a.report.loops[loop.a];
  const LoopReport& b = view.b.report.loops[loop.b];
  const auto name = [](const LoopReport& report) {
    return "process " + std::to_string(report.pid) + ", thread " + std::to_string(report.tid) +
           " " + report.thread_name +
           (report.device == DeviceId::kNone ? ""
                                             : ", device " + std::to_string(report.device_number));
  };
  return "loop " + std::to_string(index + 1) + " of " +
         std::to_string(view.comparison.loops.size()) +
         (loop.rank >= 0 ? " · rank " + std::to_string(loop.rank) : "") + " · A: " + name(a) +
         " · B: " + name(b);
}

std::string other_loops(const ComparisonView& view, const Palette& palette) {
  std::string text;
  for (std::size_t i = 1; i < view.comparison.loops.size(); ++i) {
    const LoopComparison& loop = view.comparison.loops[i];
    text += "\n" + cut(loop_name(view, i), kWidth) + "\n" + painted_answer(loop, palette) + "\n";
    if (i < kWholePages) text += loop_page(loop, view.top, palette);
  }
  return text;
}

std::string gate_line(const ComparisonView& view, const GateOutcome& outcome,
                      const Palette& palette) {
  const bool several = view.comparison.loops.size() > 1;
  std::string text = doubt_text(outcome);
  if (outcome.state != GateState::kUndecided) {
    text = outcome_text(outcome);
    if (outcome.only_noise()) text += ": beyond the limit, but that may be noise";
    if (several) text += " in loop " + std::to_string(outcome.loop + 1);
  }
  const std::string state = outcome.state == GateState::kFailed      ? palette.red("FAILED")
                            : outcome.state == GateState::kUndecided ? palette.yellow("UNSURE")
                                                                     : palette.green("passed");
  constexpr std::size_t kReasonAt = 38;
  std::string lines = "    " + state + "  " + pad_right(cut(outcome.gate.text, 24), 24) + "  ";
  std::size_t indent = 0;
  for (const std::string& line : wrap(text, kWidth - kReasonAt)) {
    lines += std::string(std::exchange(indent, kReasonAt), ' ') + line + "\n";
  }
  return lines;
}

std::string gate_lines(const ComparisonView& view, const Palette& palette) {
  if (view.gates.empty()) return "";
  std::string text = "\n  gates\n";
  for (const GateOutcome& outcome : view.gates) text += gate_line(view, outcome, palette);
  return text;
}

}  // namespace

std::string comparison_text(const ComparisonView& view, bool color) {
  const Palette palette{color};
  const LoopComparison& first = view.comparison.loops.front();
  std::string text = painted_answer(first, palette) + "\n\n" + run_lines(view, first) +
                     note_lines(view, palette) + cost_lines(view);
  if (view.comparison.loops.size() > 1) text += "\n" + cut(loop_name(view, 0), kWidth) + "\n";
  return text + loop_page(first, view.top, palette) + other_loops(view, palette) +
         gate_lines(view, palette);
}

}  // namespace stepscope
