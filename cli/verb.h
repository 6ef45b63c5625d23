// One verb of the `stepscope` binary: a file each, named after the verb, that adds a CLI11
// subcommand and does nothing but parse, call the part that does the work, and print.
#pragma once

#include <CLI/CLI.hpp>

#include "store/status.h"

namespace stepscope::cli {

// Scripts rely on these; docs/cli.md.
enum ExitCode : int {
  kOk = 0,
  kGateFailed = 1,  // a comparison or a gate failed
  kUsageError = 2,
  kBadInput = 3,  // bad input or store
};

// Prints "stepscope VERB: message" on stderr and returns the exit code for its kind.
[[nodiscard]] int report_error(const char* verb, const Status& status);

// Each adds its subcommand; when that was called, `exit_code` holds what main() returns.
void add_analyze(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_import(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_control(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_top(CLI::App& app, int& exit_code);
void add_view(CLI::App& app, int& exit_code);
void add_sweep(CLI::App& app, int& exit_code);
void add_what_if(CLI::App& app, int& exit_code);
void add_lake(CLI::App& app, int& exit_code);
void add_fleet(CLI::App& app, int& exit_code);

}  // namespace stepscope::cli
