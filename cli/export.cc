// `stepscope export`: a store as a Chrome trace.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/analyze.h"
#include "cli/open_run.h"
#include "cli/progress_line.h"
#include "cli/terminal_out.h"
#include "cli/verb.h"
#include "present/file_summary.h"
#include "store/trace_reader.h"
#include "viewer-export/trace_file.h"

namespace stepscope::cli {
namespace {

struct ExportArguments {
  std::string store;
  std::string steps;
  TraceFile file;
};

// As stored; of a store that was never analysed, made on the way and not written back.
Result<Analysis> analysis_of(const TraceReader& reader) {
  Result<Analysis> stored = reader.analysis();
  if (!stored.ok() || !stored->steps.empty() || !stored->verdicts.empty()) return stored;
  const Result<AnalysisReport> report = analyze(reader);
  if (!report.ok()) return report.status();
  return to_analysis(*report);
}

void print_summary(const ExportArguments& arguments, const ChromeTraceSummary& summary) {
  if (summary.skipped > 0) {
    print_line(stderr, "stepscope export: warning: " + std::to_string(summary.skipped) +
                           " events of " + arguments.store +
                           " are of no known thread or have a negative time; they are not in the "
                           "trace");
  }
  const std::string output = arguments.file.output.string();
  if (output == "-") return;
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(output, ignored);
  print(stdout, export_summary(output, ignored ? 0.0 : static_cast<double>(bytes), summary));
}

Result<ChromeTraceSummary> write_trace(const ExportArguments& arguments, const TraceReader& reader,
                                       const Analysis& analysis,
                                       const std::optional<StepSpan>& steps) {
  ChromeTraceOptions options;
  if (steps) options.steps = StepRange{steps->first, steps->last};
  const auto counted = reader.op_count();
  const std::int64_t total = counted.ok() ? *counted : 0;
  ProgressLine line(std::chrono::seconds(2));
  options.progress = [&](std::int64_t done) {
    line.update([&] { return "exporting: " + millions_of(done, total) + " million ops"; });
  };
  return write_trace_file(reader, arguments.store, analysis, options, arguments.file);
}

Status export_trace(const ExportArguments& arguments) {
  const auto steps = read_step_window("--steps", arguments.steps);
  if (!steps.ok()) return steps.status();
  const auto reader = TraceReader::open(arguments.store);
  if (!reader.ok()) return reader.status();
  const auto analysis = analysis_of(**reader);
  if (!analysis.ok()) return analysis.status();
  const auto written = write_trace(arguments, **reader, *analysis, *steps);
  if (!written.ok()) return written.status();
  print_summary(arguments, *written);
  return {};
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* verb = app.add_subcommand(
      "export", "Write a run as a Chrome trace: a timeline for Perfetto UI and chrome://tracing");
  verb->add_option("STORE", arguments->store, "the recording, for example run.db")->required();
  verb->add_option("-o,--output", arguments->file.output,
                   "the trace to write; compressed if the name ends in .gz; - is standard output")
      ->required();
  verb->add_option("--steps", arguments->steps, "only these steps, for example 500-520");
  verb->add_flag("--gzip", arguments->file.gzip, "compress, whatever the name");
  verb->add_option("--level", arguments->file.level, "compression level: 1 (fast) to 3 (small)")
      ->check(CLI::Range(kGzipFast, kGzipSmall))
      ->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  stepscope export run.db -o trace.json.gz\n"
      "  stepscope export run.db -o slow.json --steps 500-520\n"
      "  stepscope export run.db -o - | jq '.otherData.verdicts'\n"
      "The output replaces an existing file only once it is complete.");
  verb->callback([arguments, &exit_code] {
    // A file that may not grow further is an error of write(), not the end of the program.
    std::signal(SIGXFSZ, SIG_IGN);
    const Status status = export_trace(*arguments);
    exit_code = status.ok() ? kOk : report_error("export", status);
  });
}

}  // namespace stepscope::cli
