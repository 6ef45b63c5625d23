// The verbs of the `stepscope` binary. Each verb has a file, named after it, which adds a CLI11
// subcommand and only parses options, calls the part that does the work, and prints.
#pragma once

#include <CLI/CLI.hpp>

#include "store/status.h"

namespace stepscope::cli {

// Scripts rely on these values; docs/cli.md lists them.
enum ExitCode : int {
  kOk = 0,
  kGateFailed = 1,  // a comparison or a gate failed
  kUsageError = 2,
  kBadInput = 3,  // bad input or store
};

// Prints "stepscope VERB: message" on stderr and returns the exit code for its kind.
[[nodiscard]] int report_error(const char* verb, const Status& status);

// Each adds its subcommand, which sets `exit_code` to the value that main() returns.
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
