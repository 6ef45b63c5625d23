#include "wrap/run_summary.h"

#include <cstdint>
#include <cstdio>

#include "analyzer/analyze.h"
#include "present/run_text.h"
#include "present/stored_analysis.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "terminal/terminal_out.h"

namespace stepscope {
namespace {

// The analysis reads some two million ops a second, and takes four times as long for a phase.
constexpr std::int64_t kMaxOps = 1'500'000;
constexpr std::int64_t kOpsPerPhase = 4;

Status keep(const std::string& store, const AnalysisReport& report) {
  auto writer = TraceWriter::open(store);
  if (!writer.ok()) return writer.status();
  if (Status status = (*writer)->replace_analysis(to_analysis(report)); !status.ok()) return status;
  return (*writer)->finish();
}

Result<AnalysisReport> analyze_store(const std::string& store) {
  const auto reader = TraceReader::open(store);
  if (!reader.ok()) return reader.status();
  return analyze(**reader, AnalyzeOptions());
}

}  // namespace

bool print_summary(const std::string& store, const RunProgress& progress) {
  if (progress.ops + kOpsPerPhase * progress.phases > kMaxOps) {
    print(stderr, long_run_summary(store, progress));
    return false;
  }
  const auto report = analyze_store(store);
  if (!report.ok()) {
    print_line(stderr, "stepscope: " + report.status().message());
    return false;
  }
  const Status stored = report->loops.empty() ? Status() : keep(store, *report);
  print(stderr, run_summary(store, *report, stored));
  return stored.ok();
}

Status analyze_and_keep(const std::string& store) {
  const auto report = analyze_store(store);
  if (!report.ok()) return report.status();
  return report->loops.empty() ? Status() : keep(store, *report);
}

}  // namespace stepscope
