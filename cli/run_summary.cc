#include "cli/run_summary.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "analyzer/analyze.h"
#include "analyzer/words.h"
#include "cli/terminal_out.h"
#include "present/terminal_text.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"

namespace stepscope::cli {
namespace {

// The analysis reads some two million ops a second.
constexpr std::int64_t kMostOps = 1'500'000;
constexpr std::size_t kWidth = 98;

std::string figure(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string short_count(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 10'000) return std::to_string(count);
  return count < 1'000'000 ? figure("%.0f k", value / 1e3) : figure("%.1f M", value / 1e6);
}

std::string headline(const Verdict& verdict) {
  std::string words = verdict.degree.empty() ? verdict.kind : verdict.degree + " " + verdict.kind;
  std::transform(words.begin(), words.end(), words.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return words;
}

void print_wrapped(const std::string& text) {
  for (const std::string& line : wrap(text, kWidth)) print_line(stderr, "  " + line);
}

Status keep(const std::string& store, const AnalysisReport& report) {
  auto writer = TraceWriter::open(store);
  if (!writer.ok()) return writer.status();
  if (Status status = (*writer)->replace_analysis(to_analysis(report)); !status.ok()) return status;
  return (*writer)->finish();
}

void print_loop(const LoopReport& loop) {
  print_wrapped(headline(loop.verdict) + "   " + percent_text(loop.verdict.share) + " " +
                loop.clause + "   (confidence " + loop.verdict.confidence + ")");
  print_wrapped(count_text(static_cast<std::int64_t>(loop.analysed.size())) + " " + loop.unit() +
                "s, " + time_text(static_cast<double>(loop.wall.mean)) + " each");
  if (loop.verdict.advice.empty()) return;
  const Advice& best = loop.verdict.advice.front();
  print_wrapped("would help: " + best.title +
                (best.saves_ns > 0 ? ", " + time_text(static_cast<double>(best.predicted_step_ns)) +
                                         " a " + loop.unit()
                                   : std::string()));
}

Result<AnalysisReport> analyze_store(const std::string& store) {
  const auto reader = TraceReader::open(store);
  if (!reader.ok()) return reader.status();
  return analyze(**reader, AnalyzeOptions());
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
      text += figure(" · input %.0f %%", 100.0 * static_cast<double>(progress.waiting_ns) /
                                             static_cast<double>(progress.looping_ns));
    }
    text += " · ";
  }
  text += short_count(progress.ops + progress.phases) + " events";
  text += progress.lost == 0 ? " · nothing lost" : " · " + short_count(progress.lost) + " lost";
  if (progress.ops_enabled) text += " · ops on";
  return text;
}

void print_summary(const std::string& store, const RunProgress& progress) {
  if (progress.ops > kMostOps) {
    print(stderr, "\n");
    print_line(stderr, "stepscope: " + store + " recorded, " + short_count(progress.ops) + " ops");
    print_wrapped("next: stepscope analyze " + store);
    return;
  }
  const auto report = analyze_store(store);
  if (!report.ok()) {
    print_line(stderr, "stepscope: " + report.status().message());
    return;
  }
  print(stderr, "\n");
  print_line(stderr, "stepscope: " + store);
  if (report->loops.empty()) {
    print_wrapped(report->no_steps);
    return;
  }
  print_loop(report->loops.front());
  if (const Status status = keep(store, *report); !status.ok()) print_wrapped(status.message());
  print_wrapped("next: stepscope analyze " + store + " · stepscope export " + store +
                " -o trace.json.gz");
}

}  // namespace stepscope::cli
