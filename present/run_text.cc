#include "present/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "present/advice/advice_words.h"
#include "present/death_words.h"
#include "present/memory_words.h"
#include "present/path_argument.h"
#include "present/rank_words.h"
#include "present/report_words.h"
#include "present/terminal_text.h"
#include "present/verdict_words.h"

namespace stepscope {
namespace {

constexpr std::size_t kWidth = 98;

std::string short_count(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 10'000) return std::to_string(count);
  return count < 1'000'000 ? fmt::format("{:.0f} k", value / 1e3)
                           : fmt::format("{:.1f} M", value / 1e6);
}

std::string wrapped(const std::string& text) {
  std::string lines;
  for (const std::string& line : wrap(text, kWidth)) lines += "  " + line + "\n";
  return lines;
}

// "300 steps", or "117 of 300 steps" if the figures are those of some.
std::string steps_text(const LoopReport& loop) {
  const std::string all = count_text(static_cast<std::int64_t>(loop.steps.size()));
  const std::string some = count_text(static_cast<std::int64_t>(loop.analysed.size()));
  return (some == all ? all : some + " of " + all) + " " + loop.unit() + "s";
}

std::string loop_summary(const LoopReport& loop) {
  if (loop.verdict.kind == kNoVerdict) return wrapped(verdict_sentence(loop));
  std::string text =
      wrapped(verdict_title(loop.verdict) + "   " + percent_text(loop.verdict.share) + " " +
              verdict_clause(loop) + "   (confidence " + loop.verdict.confidence + ")") +
      wrapped(steps_text(loop) + ", " + time_text(static_cast<double>(loop.wall.mean)) + " each");
  if (const auto doubts = verdict_doubts(loop); !doubts.empty())
    text += wrapped("less certain: " + join(doubts, ", "));
  if (loop.recording.ops.plain_steps > 0) text += wrapped(recording_text(loop));
  if (loop.verdict.advice.empty()) return text;
  const Advice best = make_advice(loop.verdict.advice.front(), loop);
  std::string help = "would help: " + best.title;
  if (best.saves_ns > 0) {
    help += ", " + time_text(static_cast<double>(best.predicted_step_ns)) + " a " + loop.unit();
  }
  return text + wrapped(help);
}

// A program that the kernel kills says nothing itself; one that ends by itself has said why. But a
// launcher kills the other ranks when one has ended with an error: then that one is the cause.
std::string first_killed(const AnalysisReport& report) {
  const ProcessReport* failed_rank = nullptr;
  for (const std::size_t i : report.deaths) {
    const ProcessReport& process = report.processes[i];
    if (process.of_memory || process.end->how == EndKind::kSignal) {
      const bool by_launcher = failed_rank != nullptr && process.rank >= 0 && !process.of_memory;
      return wrapped(death_sentence(by_launcher ? *failed_rank : process));
    }
    if (process.rank >= 0 && failed_rank == nullptr) failed_rank = &process;
  }
  return {};
}

}  // namespace

std::string live_text(const RunProgress& progress) {
  std::string text = "stepscope: ";
  if (progress.step > 0) {
    text += "step " + std::to_string(progress.step);
    if (progress.step > 1 && progress.looping_ns > 0) {
      text += " · " +
              time_text(static_cast<double>(progress.looping_ns) /
                        static_cast<double>(progress.step - 1)) +
              " a step";
      text += fmt::format(" · input {:.0f} %",
                          100.0 * std::min(1.0, static_cast<double>(progress.waiting_ns) /
                                                    static_cast<double>(progress.looping_ns)));
    }
    text += " · ";
  }
  text += short_count(progress.ops + progress.phases) + " events";
  text += progress.lost == 0 ? " · nothing lost" : " · " + short_count(progress.lost) + " lost";
  if (progress.op_step_share > 0) {
    text += fmt::format(" · ops in {:.0f} % of the steps", 100 * progress.op_step_share) +
            fmt::format(" · recording costs about {:.1f} %", 100 * progress.cost);
  } else if (progress.ops_enabled) {
    text += " · ops on";
  }
  return text;
}

std::string run_summary(const std::string& store, const AnalysisReport& report,
                        const Status& stored) {
  const std::string head = "\nstepscope: " + printable(store) + "\n";
  if (report.loops.empty()) return head + wrapped(no_steps_text(report));
  const LoopReport& loop = report.loops.front();
  const std::string death = first_killed(report);  // says so itself if memory grew
  const std::string growth = death.empty() ? memory_growth_text(report, loop) : "";
  const std::string ranks = report.ranks ? wrapped(ranks_sentence(*report.ranks)) : "";
  const std::string word = path_argument(store);
  return head + death + ranks + loop_summary(loop) +
         (growth.empty() ? "" : wrapped("memory " + growth)) +
         (stored.ok() ? std::string() : wrapped(stored.message())) +
         wrapped("next: stepscope analyze " + word + " · stepscope export " + word +
                 " -o trace.json.gz");
}

std::string long_run_summary(const std::string& store, const RunProgress& progress) {
  return "\nstepscope: " + printable(store) + " recorded, " + short_count(progress.ops) +
         " ops and " + short_count(progress.phases) + " phases\n" +
         wrapped("next: stepscope analyze " + path_argument(store));
}

}  // namespace stepscope
