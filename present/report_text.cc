#include "present/report_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/printable.h"
#include "analyzer/verdict/summary.h"
#include "analyzer/words.h"
#include "present/death_words.h"
#include "present/losses.h"
#include "present/memory_words.h"
#include "present/path_argument.h"
#include "present/report_breakdown.h"
#include "present/report_lines.h"
#include "present/report_ranks.h"
#include "present/report_tables.h"
#include "present/report_verdict.h"
#include "present/report_words.h"
#include "present/terminal_text.h"
#include "store/counted.h"

namespace stepscope {
namespace {

constexpr std::size_t kWholePages = 2;  // of the loops after these, only the verdict is shown

// The name of the run. For an import, that of the process that trains, because a process that only
// starts others has no loop.
std::string program_name(const AnalysisReport& report, const LoopReport* loop) {
  if (!report.run.program.empty()) return cut(report.run.program, 40);
  for (const ProcessReport& process : report.processes) {
    if (loop == nullptr || process.id == loop->process) return process.name;
  }
  return "a run";
}

// How the recording ended early, and how processes died, the first to die first. This comes before
// the verdict, because it is the news.
std::string death_lines(const AnalysisReport& report, const Palette& palette) {
  constexpr std::size_t kMax = 4;
  std::string text;
  if (const std::string gap = gap_sentence(report.run); !gap.empty()) {
    for (const std::string& line : wrap(gap, kPageWidth - 2))
      text += "  " + palette.red(line) + "\n";
  }
  const std::vector<std::string> deaths = death_sentences(report);
  for (std::size_t i = 0; i < std::min(kMax, deaths.size()); ++i) {
    for (const std::string& line : wrap(deaths[i], kPageWidth - 2))
      text += "  " + palette.red(line) + "\n";
  }
  if (report.deaths.size() > kMax)
    text += "  and " + std::to_string(report.deaths.size() - kMax) + " more processes died\n";
  const auto of_memory = [](const ProcessReport& process) { return process.of_memory; };
  if (std::any_of(report.processes.begin(), report.processes.end(), of_memory))
    text +=
        "  to find the largest that fits:  stepscope sweep -p batch=8,16,32,64 -- PROGRAM … "
        "{batch}\n";
  return text.empty() ? "" : "\n" + text;
}

// "  left out   3 steps WHY\n"; "": none.
std::string left_out_because(std::int64_t count, const LoopReport& loop, const char* of_one,
                             const char* of_several) {
  if (count == 0) return "";
  return "  left out   " + count_text(count) + unit_text(count == 1 ? " step" : " steps", loop) +
         " in which " + (count == 1 ? of_one : of_several) + "\n";
}

std::string left_out(const LoopReport& loop) {
  const auto steady = std::count_if(loop.analysed.begin(), loop.analysed.end(),
                                    [&](std::size_t i) { return loop.steps[i].steady; });
  if (steady == 0) return "";
  const char* const stopped = loop.rank < 0 ? "a signal had stopped the program"
                                            : "a signal had stopped this rank or another";
  const std::string others =
      left_out_because(loop.with_lost_marks, loop, "marks were lost; it may stand for several",
                       "marks were lost; each may stand for several") +
      left_out_because(loop.with_stops, loop, stopped, stopped);
  if (loop.warm_up == 0) return others.empty() ? "" : "\n" + others;
  std::int64_t ns = 0;
  for (std::int64_t i = 0; i < loop.warm_up; ++i)
    ns += to_ns(loop.steps[static_cast<std::size_t>(i)].dur);
  const std::int64_t begin = loop.steps.front().number;
  const std::string which = loop.warm_up == 1 ? unit_text("step ", loop) + std::to_string(begin)
                                              : unit_text("steps ", loop) + std::to_string(begin) +
                                                    "–" + std::to_string(begin + loop.warm_up - 1);
  return "\n  left out   " + which + " (warm-up, " + time_text(static_cast<double>(ns)) + ")\n" +
         others;
}

std::string recording_line(const LoopReport& loop) {
  const std::string text = recording_text(loop);
  return text.empty() ? "" : "\n  recording  " + text + "\n";
}

// "tensors   at most 640 MB, in step 412: forward 400 MB, other 200 MB"
std::string tensors_line(const AnalysisReport& report, const LoopReport& loop) {
  for (const ProcessReport& process : report.processes) {
    if (process.id != loop.process || !process.tensors) continue;
    const HeldTensors& peak = process.tensors->peak;
    std::string text = "  tensors   at most " + bytes_text(peak.bytes);
    if (process.peak_step > 0)
      text += unit_text(", in step ", loop) + std::to_string(process.peak_step);
    return cut(text + ": " + owners_text(peak), kPageWidth) + "\n";
  }
  return "";
}

// "memory    grows by 1.05 MB a step: 261 MB over 249 steps, 543 MB at the last reading"
std::string memory_line(const AnalysisReport& report, const LoopReport& loop) {
  const bool died = std::ranges::any_of(report.deaths, [&](std::size_t i) {
    return report.processes[i].id == loop.process;  // its death says how memory grew
  });
  const std::string text = died ? "" : memory_growth_text(report, loop);
  return text.empty() ? "" : cut("  memory    " + text, kPageWidth) + "\n";
}

std::string loop_page(const AnalysisReport& report, const LoopReport& loop,
                      const TextOptions& options, const Palette& palette) {
  return verdict_lines(loop, palette) + lines_block(report.run, loop, palette) + "\n" +
         breakdown(loop, palette) + memory_line(report, loop) + tensors_line(report, loop) +
         cost_line(loop, options.price) + population_table(loop) + advice_table(loop) +
         slowest_steps(loop, options.top) + top_kernels(loop, options.top) +
         copies_table(loop, options.top) + top_ops(loop, options.top) + left_out(loop) +
         recording_line(loop);
}

// For a run without loops.
std::string whole_lines(const AnalysisReport& report, const TextOptions& options,
                        const Palette& palette) {
  if (!report.whole) return "";
  const LoopReport& whole = *report.whole;
  const std::string thread = whole.thread_name.empty() ? "thread" : "thread " + whole.thread_name;
  return "\n  " +
         palette.bold("the whole recording: " + time_text(static_cast<double>(whole.wall.mean)) +
                      " of " + thread + " " + std::to_string(whole.tid)) +
         "\n" + category_lines(whole) + top_ops(whole, options.top, /*whole=*/true);
}

std::string rank_title(const AnalysisReport& report, const LoopReport& loop) {
  if (loop.rank < 0) return "";
  std::string text = "rank " + std::to_string(loop.rank);
  if (report.ranks) text += " of " + std::to_string(report.ranks->rows.size());
  if (report.ranks && report.ranks->straggler == loop.rank)
    text += report.ranks->rows.size() == 2 ? ", which the other waits for" : ", the straggler";
  return text + kDot;
}

// `loops`: the number of loops on the page.
std::string loop_title(const AnalysisReport& report, std::size_t index, std::size_t loops) {
  const LoopReport& loop = report.loops[index];
  const std::string which =
      loops > 1 ? "loop " + std::to_string(index + 1) + " of " + std::to_string(loops) + kDot : "";
  return cut(which + rank_title(report, loop) + "process " + std::to_string(loop.pid) + kDot +
                 "thread " + std::to_string(loop.tid) + " " + loop.thread_name + kDot +
                 (loop.device == DeviceId::kNone ? "" : device_text(loop) + kDot) +
                 step_range(loop),
             kPageWidth) +
         "\n";
}

// For a distributed run, the loops of its first rank: the table covers the others.
std::size_t loops_of_page(const AnalysisReport& report) {
  if (!report.ranks) return report.loops.size();
  const std::int64_t rank = report.loops.front().rank;
  return static_cast<std::size_t>(
      std::ranges::count_if(report.loops, [rank](const LoopReport& l) { return l.rank == rank; }));
}

// What exceeded a limit and is therefore not listed one by one.
std::string limit_lines(const AnalysisReport& report) {
  std::int64_t names = 0;
  for (const LoopReport& loop : report.loops)
    names = std::max(names, loop.merged_ops + loop.merged_kernels);
  std::string text;
  if (report.loops_left_out > 0)
    text += "  " + counted(report.loops_left_out, "shorter loop was", "shorter loops were") +
            " left out\n";
  if (report.processes_left_out > 0) {
    text += "  " +
            counted(report.processes_left_out, "process without a loop was",
                    "processes without a loop were") +
            " left out\n";
  }
  if (names > 0) {
    text += "  " + std::to_string(names) +
            " names share rows of the tables; the view op_stats in the store has each of them\n";
  }
  return text.empty() ? "" : "\n" + text;
}

std::string next_lines(const AnalysisReport& report, const TextOptions& options) {
  const std::string store = path_argument(options.store);
  std::vector<std::string> lines;
  if (report.ranks && !options.one_rank) {
    const RankRow& first = report.ranks->rows.front();
    const RankRow& second = report.ranks->rows[1];
    const bool is_shown = first.rank == report.loops.front().rank;
    lines.push_back("stepscope analyze " + store + " --rank " +
                    std::to_string((is_shown ? second : first).rank));
  }
  if (options.imported) {
    lines.push_back("stepscope import " + store + " -o run.db");
    lines.emplace_back("keeps the imported run for queries and exports");
  } else {
    lines.push_back("stepscope view " + store);
    lines.push_back("stepscope export " + store + " -o trace.json.gz");
    lines.push_back("sqlite3 " + store + " \"select * from step_breakdown\"");
  }
  return "\n  next   " + join(lines, "\n         ") + "\n";
}

}  // namespace

std::string run_header(const AnalysisReport& report, const LoopReport* loop, std::size_t width) {
  std::vector<std::string> parts;
  const std::string name = program_name(report, loop);
  parts.push_back(name);
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
  const std::string header = join(parts, kDot);
  const std::string commit = printable(commit_text(report.run.source));
  if (commit.empty()) return header;
  // If the line is too long, what was lost matters more than the commit.
  parts.front() = name + " (" + commit + ")";
  const std::string whole = join(parts, kDot);
  return width_of(whole) <= width ? whole : header;
}

std::string text_report(const AnalysisReport& report, const TextOptions& options) {
  const Palette palette{options.color};
  if (report.loops.empty()) {
    std::string text =
        cut(run_header(report, nullptr), kPageWidth) + "\n\n  " + palette.bold("NO STEPS") + "\n";
    for (const std::string& line : wrap(no_steps_text(report), kPageWidth - 2))
      text += "  " + line + "\n";
    return text + whole_lines(report, options, palette);
  }
  std::string text = cut(run_header(report, &report.loops.front()), kPageWidth) + "\n" +
                     death_lines(report, palette) +
                     ranks_block(report, palette, /*table=*/!options.one_rank);
  const std::size_t loops = loops_of_page(report);
  for (std::size_t i = 0; i < loops; ++i) {
    const LoopReport& loop = report.loops[i];
    text += "\n";
    if (loops > 1 || report.ranks) text += loop_title(report, i, loops);
    text += i < kWholePages ? loop_page(report, loop, options, palette)
                            : verdict_lines(loop, palette) + step_time_line(loop, palette);
  }
  return text + limit_lines(report) + next_lines(report, options);
}

}  // namespace stepscope
