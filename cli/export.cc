// `stepscope export`: a store as a Chrome trace.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/analyze.h"
#include "cli/progress_line.h"
#include "cli/terminal_out.h"
#include "cli/verb.h"
#include "present/file_summary.h"
#include "store/trace_reader.h"
#include "viewer-export/chrome_trace.h"
#include "viewer-export/gzip_sink.h"
#include "viewer-export/output_file.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

struct ExportArguments {
  std::string store;
  std::string output;
  std::string steps;
  bool gzip = false;
  int level = kGzipFast;
};

Result<std::optional<StepRange>> parse_steps(const std::string& text) {
  if (text.empty()) return std::optional<StepRange>();
  const std::optional<StepSpan> window = parse_step_window(text);
  if (!window) {
    return Status::error(ErrorKind::kUsage,
                         "--steps " + text + ": write A-B or A with 1 <= A <= B, as 500-520");
  }
  return std::optional<StepRange>(StepRange{window->first, window->last});
}

// As stored; of a store that was never analysed, made on the way and not written back.
Result<Analysis> analysis_of(const TraceReader& reader) {
  Result<Analysis> stored = reader.analysis();
  if (!stored.ok() || !stored->steps.empty() || !stored->verdicts.empty()) return stored;
  const Result<AnalysisReport> report = analyze(reader);
  if (!report.ok()) return report.status();
  return to_analysis(*report);
}

bool ends_in_gz(const std::string& name) { return fs::path(name).extension() == ".gz"; }

void print_summary(const ExportArguments& arguments, const ChromeTraceSummary& summary) {
  if (summary.skipped > 0) {
    print_line(stderr, "stepscope export: warning: " + std::to_string(summary.skipped) +
                           " events of " + arguments.store +
                           " are of no known thread or have a negative time; they are not in the "
                           "trace");
  }
  if (arguments.output == "-") return;
  std::error_code ignored;
  const auto bytes = fs::file_size(arguments.output, ignored);
  print(stdout,
        export_summary(arguments.output, ignored ? 0.0 : static_cast<double>(bytes), summary));
}

Status export_trace(const ExportArguments& arguments) {
  const auto steps = parse_steps(arguments.steps);
  if (!steps.ok()) return steps.status();
  const auto reader = TraceReader::open(arguments.store);
  if (!reader.ok()) return reader.status();
  const auto analysis = analysis_of(**reader);
  if (!analysis.ok()) return analysis.status();

  auto file = OutputFile::create(arguments.output);
  if (!file.ok()) return file.status();
  ByteSink* sink = file->get();
  std::unique_ptr<ByteSink> gzip;
  if (arguments.gzip || ends_in_gz(arguments.output)) {
    gzip = make_gzip_sink(**file, arguments.level);
    sink = gzip.get();
  }
  ChromeTraceSummary summary;
  {
    const std::int64_t total = (*reader)->op_count().ok() ? *(*reader)->op_count() : 0;
    ProgressLine progress(std::chrono::seconds(2));
    const ChromeTraceOptions options{*steps, [&](std::int64_t done) {
                                       progress.update([&] {
                                         return "exporting: " + millions_of(done, total) +
                                                " million ops";
                                       });
                                     }};
    auto written = write_chrome_trace(**reader, *analysis, options, *sink);
    if (!written.ok()) {
      const bool of_output = written.status().kind() == ErrorKind::kIo;
      if (of_output) return written.status();
      return Status::error(written.status().kind(),
                           arguments.store + ": " + written.status().message());
    }
    summary = *written;
  }
  print_summary(arguments, summary);
  return {};
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* verb = app.add_subcommand(
      "export", "Write a run as a Chrome trace: a timeline for Perfetto UI and chrome://tracing");
  verb->add_option("STORE", arguments->store, "the recording, for example run.db")->required();
  verb->add_option("-o,--output", arguments->output,
                   "the trace to write; compressed if the name ends in .gz; - is standard output")
      ->required();
  verb->add_option("--steps", arguments->steps, "only these steps, for example 500-520");
  verb->add_flag("--gzip", arguments->gzip, "compress, whatever the name");
  verb->add_option("--level", arguments->level, "compression level: 1 (fast) to 3 (small)")
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
