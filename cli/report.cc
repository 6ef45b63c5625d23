// stepscope report: writes a run as one HTML file to view, keep and mail.
#include "viewer-export/report/report.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/compare/compare.h"
#include "analyzer/verdict/ranks.h"
#include "analyzer/words.h"
#include "cli/open_run.h"
#include "cli/verb.h"
#include "present/comparison_json.h"
#include "present/death_words.h"
#include "present/losses.h"
#include "present/report_json.h"
#include "present/stored_analysis.h"
#include "present/sweep_json.h"
#include "sweep/analyze_sweep.h"
#include "terminal/terminal_out.h"
#include "viewer-export/output_file.h"

namespace stepscope::cli {
namespace {

constexpr const char* kVerb = "report";

struct ReportArguments {
  std::string store;
  std::string output = "report.html";
  std::string baseline;
  std::optional<std::int64_t> rank;
};

Result<AnalysisReport> analyse(const TraceReader& reader, const ReportArguments& arguments,
                               const std::string& label) {
  AnalyzeOptions options;
  options.op_samples = !arguments.baseline.empty();  // what a comparison needs
  return analyze_run(reader, options, label);
}

Result<std::string> comparison_of(const ReportArguments& arguments, const AnalysisReport& run) {
  if (arguments.baseline.empty()) return std::string();
  const auto opened = open_run(arguments.baseline, "the baseline");
  if (!opened.ok()) return opened.status();
  auto baseline = analyse(opened->reader(), arguments, "the baseline");
  if (!baseline.ok()) return baseline.status();
  if (baseline->loops.empty()) {
    return Status::error(ErrorKind::kBadInput,
                         arguments.baseline + ": " + no_steps_text(*baseline));
  }
  const ComparedRun a{arguments.baseline, *std::move(baseline)};
  const ComparedRun b{arguments.store, run};
  return comparison_json({a, b, compare(a.report, b.report), {}, kPageTop});
}

void print_size(const std::string& output, const OutputFile& file) {
  if (!file.appears()) return;  // it may be standard output
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(output, ignored);
  const std::string size = bytes_text(ignored ? 0.0 : static_cast<double>(bytes));
  print_line(stdout, output + ": " + size + ", opens in any browser");
}

void print_summary(const ReportArguments& arguments, const AnalysisReport& run,
                   const OutputFile& file) {
  if (!report_has_charts()) {
    print_line(stderr,
               "stepscope report: this build has no Chart.js, so the page has all figures but no "
               "graphs; for graphs, install libjs-chart.js and build Stepscope again");
  }
  if (run.loops.empty()) {
    print_line(stderr, "stepscope report: " + arguments.store + ": " + no_steps_text(run));
  }
  print_size(arguments.output, file);
}

Status report_sweep(const ReportArguments& arguments) {
  if (!arguments.baseline.empty()) {
    return Status::error(ErrorKind::kUsage,
                         "--baseline: " + arguments.store + " is a sweep; omit --baseline");
  }
  if (arguments.rank) {
    return Status::error(ErrorKind::kUsage,
                         "--rank: " + arguments.store + " is a sweep; omit --rank");
  }
  const auto data = read_sweep(arguments.store);
  if (!data.ok()) return data.status();
  auto file = OutputFile::create(arguments.output, {arguments.store});
  if (!file.ok()) return file.status();
  const Status status =
      write_sweep_report(sweep_json(analyze_sweep(*data), arguments.store), **file);
  if (status.ok()) print_size(arguments.output, **file);
  return status;
}

Status report(const ReportArguments& arguments) {
  if (is_sweep(arguments.store)) return report_sweep(arguments);
  const auto opened = open_run(arguments.store);
  if (!opened.ok()) return opened.status();
  auto run = analyse(opened->reader(), arguments, "");
  if (!run.ok()) return run.status();
  if (arguments.rank) {
    if (Status status = keep_rank(*run, *arguments.rank); !status.ok()) return status;
  }
  if (run->loops.empty() && !arguments.baseline.empty()) {
    return Status::error(ErrorKind::kBadInput, arguments.store + ": " + no_steps_text(*run));
  }
  const auto comparison = comparison_of(arguments, *run);
  if (!comparison.ok()) return comparison.status();

  auto file = OutputFile::create(arguments.output, {arguments.store, arguments.baseline});
  if (!file.ok()) return file.status();
  const ReportDocuments documents{json_report(*run, kPageTop), *comparison, std::nullopt,
                                  losses_text(run->losses, run->run.is_incomplete())};
  // The page has a table of all ranks, but the details of one only.
  if (run->ranks && !arguments.rank) {
    if (Status kept = keep_rank(*run, run->loops.front().rank); !kept.ok()) return kept;
  }
  const Status status = write_report(opened->reader(), to_analysis(*run), documents, **file);
  if (!status.ok()) return status;
  print_summary(arguments, *run, **file);
  return {};
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* verb = app.add_subcommand(
      kVerb, "Write a run as one HTML page that needs no network and no other file");
  verb->add_option("store", arguments->store,
                   "the recording, for example run.db, another profiler's trace, or a sweep")
      ->required();
  verb->add_option("-o,--output", arguments->output, "the page to write; - is standard output")
      ->capture_default_str();
  verb->add_option("--baseline", arguments->baseline,
                   "an earlier recording; adds a page that shows what has changed since");
  verb->add_option("--rank", arguments->rank,
                   "show only this rank of a distributed run; default: the whole job");
  verb->footer(
      "Examples:\n"
      "  stepscope report run.db -o report.html\n"
      "  stepscope report after.db --baseline before.db -o report.html\n"
      "  stepscope report run.db --rank 3 -o rank3.html\n"
      "Writes to neither store. The output replaces an existing file only once it is complete.\n"
      "Exit codes: 0 success; 2 wrong usage; 3 a store is missing or broken, the output cannot be\n"
      "written, or a run to compare has no training step.");
  verb->callback([arguments, &exit_code] {
    const Status status = report(*arguments);
    exit_code = status.ok() ? kOk : report_error(kVerb, status);
  });
}

}  // namespace stepscope::cli
