// `stepscope import`: converts traces of other profilers into a store.
#include "analyzer/import/import.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/store_output.h"
#include "cli/verb.h"
#include "present/file_summary.h"
#include "terminal/progress_line.h"
#include "terminal/terminal_out.h"

namespace stepscope::cli {
namespace {

struct ImportArguments {
  std::vector<std::string> files;
  std::string output;
  std::string steps_nvtx;
  bool partial = false;
};

std::atomic<int> interrupted_by = 0;  // a signal

std::string progress_text(std::int64_t done, std::int64_t total) {
  if (done >= total && total > 0) return "importing: sorting the events";
  return "importing: " + millions_of(done, total) + " MB";
}

void print_summary(const ImportArguments& arguments, const ImportSummary& summary) {
  for (const ImportedFile& file : summary.files) {
    if (file.broken.empty()) continue;
    print_line(stderr,
               "stepscope import: warning: kept the part before the damage: " + file.broken);
  }
  print(stdout, import_summary(arguments.output, summary));
}

Status import_files(const ImportArguments& arguments) {
  if (Status status = check_store_output(arguments.output); !status.ok()) return status;
  ImportOptions options;
  options.partial = arguments.partial;
  options.steps_nvtx = arguments.steps_nvtx;
  std::vector<std::filesystem::path> files(arguments.files.begin(), arguments.files.end());
  std::replace(files.begin(), files.end(), std::filesystem::path("-"),
               std::filesystem::path("/dev/stdin"));
  Result<ImportSummary> summary = Status();
  {
    ProgressLine line(std::chrono::seconds(1));
    options.progress = [&line](std::int64_t done, std::int64_t total) {
      line.update([&] { return progress_text(done, total); });
      return interrupted_by == 0;
    };
    summary = import_traces(files, arguments.output, options);
  }
  if (!summary.ok()) return summary.status();
  print_summary(arguments, *summary);
  return {};
}

}  // namespace

void add_import(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* verb = app.add_subcommand(
      "import", "Read traces of other profilers: PyTorch profiler (Kineto), Nsight Systems");
  verb->add_option(
          "FILES", arguments->files,
          "the traces, plain or gzip; several are the ranks of one run; - is standard input")
      ->required();
  verb->add_option("-o,--output", arguments->output,
                   "the store to write; an earlier one is kept as FILE.old")
      ->required();
  verb->add_flag("--partial", arguments->partial,
                 "keep the part of a broken file before the damage");
  verb->add_option("--steps-nvtx", arguments->steps_nvtx,
                   "Nsight Systems: NVTX ranges with these names are steps, for example 'step *'");
  verb->footer(
      "Examples:\n"
      "  stepscope import trace.json.gz -o run.db\n"
      "  stepscope import rank0.json rank1.json -o run.db\n"
      "  stepscope import report.sqlite -o run.db --steps-nvtx 'step *'\n"
      "  stepscope import cut_off.json -o run.db --partial\n"
      "Then: stepscope analyze run.db");
  verb->callback([arguments, &exit_code] {
    // Without SA_RESTART, so that a signal also interrupts reading a pipe that nobody writes to.
    struct sigaction on_interrupt{};
    on_interrupt.sa_handler = [](int signal) { interrupted_by = signal; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction before{};
      sigaction(signal, nullptr, &before);
      if (before.sa_handler != SIG_IGN) sigaction(signal, &on_interrupt, nullptr);
    }
    const Status status = import_files(*arguments);
    // The unfinished store is gone by now. A shell is to see what ended the command.
    if (const int signal = interrupted_by; signal != 0 && !status.ok()) {
      print_line(stderr, "stepscope import: " + status.message());
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    }
    exit_code = status.ok() ? kOk : report_error("import", status);
  });
}

}  // namespace stepscope::cli
