// stepscope what-if: predicts the step time if something were different.
#include <memory>
#include <string>

#include "cli/open_run.h"
#include "cli/verb.h"
#include "present/what_if_answer.h"
#include "present/what_if_json.h"
#include "present/what_if_text.h"
#include "terminal/terminal_out.h"

namespace stepscope::cli {
namespace {

constexpr const char* kVerb = "what-if";

struct WhatIfArguments {
  std::string store;
  std::string steps;
  bool json = false;
  WhatIfQuestion question;
};

int run_what_if(WhatIfArguments& arguments) {
  const auto steps = read_step_window("--steps", arguments.steps);
  if (!steps.ok()) return report_error(kVerb, steps.status());
  arguments.question.steps = *steps;
  const auto run = open_run(arguments.store);
  if (!run.ok()) return report_error(kVerb, run.status());
  const auto answer = what_if(run->reader(), arguments.question);
  if (!answer.ok()) {
    return report_error(kVerb, Status::error(answer.status().kind(),
                                             arguments.store + ": " + answer.status().message()));
  }
  const Status printed =
      arguments.json ? write_json(what_if_json(*answer)) : write_page(what_if_text(*answer));
  return printed.ok() ? kOk : report_error(kVerb, printed);
}

}  // namespace

void add_what_if(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<WhatIfArguments>();
  WhatIfQuestion& question = arguments->question;
  CLI::App* verb = app.add_subcommand(kVerb, "Predict the step time if something were different");
  verb->add_option("store", arguments->store,
                   "the recording, for example run.db, or another profiler's trace")
      ->required();
  verb->add_option("--op", question.ops,
                   "an op or a scope, with everything inside it: NAME=2x makes it twice as fast, "
                   "NAME=0 removes it")
      ->allow_extra_args(false);
  verb->add_option("--input", question.input,
                   "prefetched (by one worker), workers=N, or cached (no decoding)")
      ->allow_extra_args(false);
  verb->add_option("--copies", question.copies, "pinned: copies to the device do not block");
  verb->add_option("--sync", question.sync, "removed: the host does not wait for the device");
  verb->add_option("--launch", question.launch, "graphs: launching an op costs nothing");
  verb->add_option(
      "--line", question.line,
      "a line of the program, with everything it calls: data.py:41=2x; cannot be combined "
      "with other changes");
  verb->add_option("--steps", arguments->steps, "only these steps, for example 500-520");
  verb->add_flag("--json", arguments->json, "print one JSON document (docs/cli.md lists its keys)");
  verb->footer(
      "All changes apply together.\n"
      "Examples:\n"
      "  stepscope what-if run.db --input workers=2\n"
      "  stepscope what-if run.db --op aten::conv2d=2x --input prefetched\n"
      "  stepscope what-if run.db --line data.py:41=2x\n"
      "  stepscope what-if run.db --op checkpoint=0 --json | jq .predicted_step_ns\n"
      "Exit codes: 0 success; 2 wrong usage; 3 the store is missing or broken, or its steps cannot "
      "be\nreplayed.");
  verb->callback([arguments, &exit_code] { exit_code = run_what_if(*arguments); });
}

}  // namespace stepscope::cli
