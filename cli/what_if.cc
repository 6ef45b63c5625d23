// stepscope what-if: what a step would take if something were different.
#include "analyzer/what_if.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/words.h"
#include "cli/open_run.h"
#include "cli/terminal_out.h"
#include "cli/verb.h"
#include "present/terminal_text.h"

namespace stepscope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVerb = "what-if";
constexpr double kLeastShown = 0.001;  // of a step: a category that changes by less is not listed

struct WhatIfArguments {
  std::string store;
  std::string steps;
  bool json = false;
  WhatIfQuestion question;
};

std::string signed_percent(double fraction) {
  std::array<char, 32> text{};
  // Adding 0 turns a rounded -0 into 0.
  std::snprintf(text.data(), text.size(), "%+.1f %%", std::round(fraction * 1000) / 10 + 0.0);
  return text.data();
}

std::string row(const std::string& what, double ns, const std::string& rest) {
  return "  " + pad_right(what, 12) + pad_left(time_text(ns), 9) + "   " + rest + "\n";
}

std::string changed_categories(const WhatIfAnswer& answer) {
  std::string text;
  for (std::size_t i = 0; i < answer.predicted.exposed.size(); ++i) {
    const double before = answer.as_it_is.exposed[i], after = answer.predicted.exposed[i];
    if (std::abs(after - before) < kLeastShown * answer.as_it_is.step_ns) continue;
    text += "    " + pad_right(category_name(static_cast<Category>(i)), 14) +
            pad_left(time_text(before), 9) + "  →" + pad_left(time_text(after), 9) + "\n";
  }
  return text.empty() ? "" : "\n  where the loop's thread spends it\n" + text;
}

std::string page(const WhatIfAnswer& answer) {
  const double measured = static_cast<double>(answer.loop.wall.mean);
  const Prediction& predicted = answer.predicted;
  const char* const unit = answer.loop.unit();
  std::string text = row("measured", measured,
                         count_text(static_cast<std::int64_t>(answer.loop.analysed.size())) +
                             in_units(" steps", unit));
  text +=
      row("replayed", answer.as_it_is.step_ns,
          signed_percent(answer.as_it_is.step_ns / measured - 1) + ", " +
              count_text(answer.loop.replay.steps) + in_units(" steps without any change", unit));
  std::array<char, 32> factor{};
  std::snprintf(factor.data(), factor.size(), "%.2f ×  ", measured / predicted.step_ns);
  text += row("predicted", predicted.step_ns,
              factor.data() + ("(95 % CI " + time_text(predicted.ci95.low) + " – " +
                               time_text(predicted.ci95.high) + ")"));
  text += changed_categories(answer);
  for (const std::string& note : answer.notes) {
    text += "\n";
    for (const std::string& line : wrap(note, 98)) text += "  " + line + "\n";
  }
  return text;
}

Json exposed_json(const Prediction& prediction) {
  Json json;
  for (std::size_t i = 0; i < prediction.exposed.size(); ++i)
    json[category_name(static_cast<Category>(i))] = std::llround(prediction.exposed[i]);
  return json;
}

std::string document(const WhatIfAnswer& answer) {
  const Prediction& predicted = answer.predicted;
  const Json json = {
      {"schema", "stepscope.what_if/1"},
      {"measured_step_ns", answer.loop.wall.mean},
      {"replayed_step_ns", std::llround(answer.as_it_is.step_ns)},
      {"replay_error", answer.loop.replay.error},
      {"replayed_steps", answer.loop.replay.steps},
      {"predicted_step_ns", std::llround(predicted.step_ns)},
      {"ci95", {std::llround(predicted.ci95.low), std::llround(predicted.ci95.high)}},
      {"saves_ns", answer.loop.wall.mean - std::llround(predicted.step_ns)},
      {"exposed_before", exposed_json(answer.as_it_is)},
      {"exposed_after", exposed_json(predicted)},
      {"notes", answer.notes}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int run_what_if(WhatIfArguments& arguments) {
  const auto steps = read_step_window("--steps", arguments.steps);
  if (!steps.ok()) return report_error(kVerb, steps.status());
  arguments.question.steps = *steps;
  const auto run = OpenedRun::open(arguments.store);
  if (!run.ok()) return report_error(kVerb, run.status());
  const auto answer = what_if(run->reader(), arguments.question);
  if (!answer.ok()) {
    return report_error(kVerb, Status::error(answer.status().kind(),
                                             arguments.store + ": " + answer.status().message()));
  }
  const Status printed = arguments.json ? write_json(document(*answer)) : write_page(page(*answer));
  return printed.ok() ? kOk : report_error(kVerb, printed);
}

}  // namespace

void add_what_if(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<WhatIfArguments>();
  WhatIfQuestion& question = arguments->question;
  CLI::App* verb =
      app.add_subcommand(kVerb, "Predict what a step would take if something were different");
  verb->add_option("store", arguments->store,
                   "the recording, for example run.db, or another profiler's trace")
      ->required();
  verb->add_option("--op", question.ops,
                   "an op (or a scope), with all in it: NAME=2x twice as fast, NAME=0 gone")
      ->allow_extra_args(false);
  verb->add_option("--input", question.input,
                   "prefetched (by one worker), workers=N, or cached (nothing to decode)")
      ->allow_extra_args(false);
  verb->add_option("--copies", question.copies, "pinned: copies to the device that do not block");
  verb->add_option("--sync", question.sync, "removed: the host does not wait for the device");
  verb->add_option("--launch", question.launch, "graphs: no cost of launching each op");
  verb->add_option("--steps", arguments->steps, "only these steps, for example 500-520");
  verb->add_flag("--json", arguments->json, "print one JSON document (docs/cli.md lists its keys)");
  verb->footer(
      "All changes are made together.\n"
      "Examples:\n"
      "  stepscope what-if run.db --input workers=2\n"
      "  stepscope what-if run.db --op aten::conv2d=2x --input prefetched\n"
      "  stepscope what-if run.db --op checkpoint=0 --json | jq .predicted_step_ns\n"
      "Exit codes: 0 fine, 2 wrong usage, 3 no store, a broken one, or one whose steps cannot be\n"
      "replayed.");
  verb->callback([arguments, &exit_code] { exit_code = run_what_if(*arguments); });
}

}  // namespace stepscope::cli
