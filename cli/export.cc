// `stepscope export`: writes a store as a file for other viewers.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/analyze.h"
#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "cli/lake_run.h"
#include "cli/open_run.h"
#include "cli/verb.h"
#include "present/file_summary.h"
#include "present/stored_analysis.h"
#include "store/counted.h"
#include "store/trace_reader.h"
#include "terminal/progress_line.h"
#include "terminal/terminal_out.h"
#include "viewer-export/chrome_trace.h"
#include "viewer-export/export_file.h"
#include "viewer-export/folded.h"
#include "viewer-export/lanes.h"
#include "viewer-export/output_file.h"
#include "viewer-export/speedscope.h"

namespace stepscope::cli {
namespace {

struct ExportArguments {
  std::string store;
  std::string steps;
  bool speedscope = false;
  bool folded = false;
  ExportFile file;
};

// The stored analysis. If the store was never analysed, analyses it now and does not write the
// result back.
Result<Analysis> analysis_of(const TraceReader& reader) {
  Result<Analysis> stored = reader.analysis();
  if (!stored.ok() || !stored->steps.empty() || !stored->verdicts.empty()) return stored;
  const Result<AnalysisReport> report = analyze(reader);
  if (!report.ok()) return report.status();
  return to_analysis(*report);
}

// nullopt: a pipe or a device, whose size says nothing.
std::optional<double> bytes_of(const ExportFile& file) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(file.output, failed);
  return failed ? std::nullopt : std::optional(static_cast<double>(bytes));
}

void warn(const std::string& what) { print_line(stderr, "stepscope export: warning: " + what); }

void print_summary(const ExportArguments& arguments, const ChromeTraceSummary& summary) {
  if (summary.skipped > 0) {
    warn(std::to_string(summary.skipped) + " events of " + arguments.store +
         " are not in the trace: more than " + std::to_string(kMaxLanes) +
         " overlap, their thread is unknown, or their time is negative");
  }
  const std::string output = arguments.file.output.string();
  if (is_standard_output(output)) return;
  print(stdout, export_summary(output, bytes_of(arguments.file), summary));
}

void print_summary(const ExportArguments& arguments, const StacksSummary& summary) {
  if (summary.every > 1) {
    warn(arguments.store + " has " + std::to_string(summary.samples) + " stack samples; 1 in " +
         std::to_string(summary.every) + " is exported, and stands for the time of the others too");
  }
  if (summary.skipped > 0) {
    warn(std::to_string(summary.skipped) + " stack samples of " + arguments.store +
         " are out of order or have a negative time; they are left out");
  }
  const std::string output = arguments.file.output.string();
  if (is_standard_output(output)) return;
  const auto bytes = bytes_of(arguments.file);
  print(stdout, printable(output) + ": " + counted(summary.samples, "stack sample") + " of " +
                    counted(summary.threads, "thread") + (bytes ? ", " + bytes_text(*bytes) : "") +
                    "\nopen it at https://www.speedscope.app (it stays on your machine)" +
                    (arguments.folded ? " or with flamegraph.pl\n" : "\n"));
}

Status export_trace(const ExportArguments& arguments, const TraceReader& reader,
                    const std::optional<StepSpan>& steps) {
  const auto analysis = analysis_of(reader);
  if (!analysis.ok()) return analysis.status();
  ChromeTraceOptions options;
  if (steps) options.steps = StepRange{steps->first, steps->last};
  const auto counted = reader.op_count();
  const std::int64_t total = counted.ok() ? *counted : 0;
  ProgressLine line(std::chrono::seconds(2));
  options.progress = [&](std::int64_t done) {
    line.update([&] { return "exporting: " + millions_of(done, total) + " million ops"; });
  };
  ChromeTraceSummary summary;
  const Status status = write_export_file(arguments.file, arguments.store, [&](ByteSink& sink) {
    const auto written = write_chrome_trace(reader, *analysis, options, sink);
    if (written.ok()) summary = *written;
    return written.status();
  });
  if (status.ok()) print_summary(arguments, summary);
  return status;
}

Status export_stacks(const ExportArguments& arguments, const TraceReader& reader,
                     const std::optional<StepSpan>& steps) {
  StacksSummary summary;
  const Status status =
      write_export_file(arguments.file, arguments.store, [&](ByteSink& sink) -> Status {
        Cut cut;
        if (steps) {
          const auto analysis = analysis_of(reader);
          if (!analysis.ok()) return analysis.status();
          const auto chosen = cut_of(*analysis, StepRange{steps->first, steps->last});
          if (!chosen.ok()) return chosen.status();
          cut = *chosen;
        }
        const auto written = arguments.folded ? write_folded(reader, cut, sink)
                                              : write_speedscope(reader, cut, sink);
        if (written.ok()) summary = *written;
        return written.status();
      });
  if (status.ok()) print_summary(arguments, summary);
  return status;
}

Status export_run(const ExportArguments& arguments) {
  const auto steps = read_step_window("--steps", arguments.steps);
  if (!steps.ok()) return steps.status();
  const auto reader = TraceReader::open(arguments.store);
  if (!reader.ok()) return failure_to_open(arguments.store, reader.status());
  const bool stacks = arguments.speedscope || arguments.folded;
  return stacks ? export_stacks(arguments, **reader, *steps)
                : export_trace(arguments, **reader, *steps);
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* verb = app.add_subcommand(
      "export", "Write a run for other viewers: a Chrome trace for Perfetto UI, or stack samples");
  verb->add_option("STORE", arguments->store, "the recording, for example run.db")->required();
  verb->add_option("-o,--output", arguments->file.output,
                   "the file to write; compressed if the name ends in .gz; - is standard output")
      ->required();
  CLI::Option* speedscope = verb->add_flag("--speedscope", arguments->speedscope,
                                           "stack samples for speedscope.app instead of a trace");
  verb->add_flag("--folded", arguments->folded, "stack samples as folded stacks, for flamegraph.pl")
      ->excludes(speedscope);
  verb->add_option("--steps", arguments->steps, "only these steps, for example 500-520");
  verb->add_flag("--gzip", arguments->file.gzip, "compress, whatever the file's name");
  verb->add_option("--level", arguments->file.level, "compression level: 1 (fast) to 3 (small)")
      ->check(CLI::Range(kGzipFast, kGzipSmall))
      ->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  stepscope export run.db -o trace.json.gz\n"
      "  stepscope export run.db -o slow.json --steps 500-520\n"
      "  stepscope export run.db -o - | jq '.otherData.verdicts'\n"
      "  stepscope export run.db --speedscope -o run.speedscope.json\n"
      "  stepscope export run.db --folded -o - | flamegraph.pl > run.svg\n"
      "The output replaces an existing file only once it is complete.");
  verb->callback([arguments, &exit_code] {
    const Status status = export_run(*arguments);
    exit_code = status.ok() ? kOk : report_error("export", status);
  });
}

}  // namespace stepscope::cli
