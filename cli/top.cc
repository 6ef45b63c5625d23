// stepscope top: shows in the terminal what a run is doing right now.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analyzer/live/live_run.h"
#include "cli/low_priority.h"
#include "cli/number_check.h"
#include "cli/open_run.h"
#include "cli/verb.h"
#include "present/terminal_text.h"
#include "present/top_json.h"
#include "present/top_text.h"
#include "terminal/live_screen.h"
#include "terminal/terminal_out.h"

namespace stepscope::cli {
namespace {

constexpr const char* kVerb = "top";
constexpr std::size_t kWidth = 100;

struct TopArguments {
  std::string store;
  double interval_s = 1;
  std::size_t top_ops = 8;
  bool once = false;
  bool json = false;
  bool no_color = false;
};

std::string plain_text(const LiveFrame& frame, const TopOptions& options) {
  std::string text;
  for (const std::string& line : top_lines(frame, options)) text += line + "\n";
  return text;
}

std::chrono::milliseconds interval_of(const TopArguments& arguments) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(arguments.interval_s * 1000));
}

Status print_once(const TopArguments& arguments, LiveRun& run) {
  const auto frame = run.refresh();
  if (!frame.ok()) return frame.status();
  if (arguments.json) return write_json(top_json(**frame) + "\n");
  TopOptions options{.width = kWidth, .top_ops = arguments.top_ops};
  options.color = !arguments.no_color && stdout_wants_color();
  return write_page(plain_text(**frame, options));
}

// Prints one document per frame, until the recording has ended and its last frame is printed.
Status print_frames(const TopArguments& arguments, LiveRun& run) {
  while (true) {
    const auto frame = run.refresh();
    if (!frame.ok()) return frame.status();
    if (Status status = write_json(top_json(**frame) + "\n"); !status.ok()) return status;
    if (!(*frame)->being_recorded) return {};
    std::this_thread::sleep_for(interval_of(arguments));
  }
}

TopOptions options_for(const TopArguments& arguments, const LiveScreen& screen) {
  TopOptions options{.width = std::min(screen.width(), kWidth), .top_ops = arguments.top_ops};
  options.height = screen.height() - 1;  // the last line says how to quit
  options.color = !arguments.no_color && stdout_wants_color();
  return options;
}

Status show(const TopArguments& arguments, LiveRun& run) {
  LiveScreen screen;
  auto frame = run.refresh();
  while (frame.ok()) {
    const TopOptions options = options_for(arguments, screen);
    std::vector<std::string> lines = top_lines(**frame, options);
    lines.resize(options.height);
    lines.push_back(Palette{options.color}.dim(cut("q quits", options.width)));
    screen.draw(lines);
    const LiveScreen::Event event = screen.wait(interval_of(arguments));
    if (event == LiveScreen::Event::kQuit) return {};
    if (event == LiveScreen::Event::kTime) frame = run.refresh();
  }
  return frame.status();
}

Status top(const TopArguments& arguments) {
  const auto opened = open_run_to_follow(arguments.store);
  if (!opened.ok()) return opened.status();
  const auto run = LiveRun::open(opened->store());
  if (!run.ok()) return run.status();
  yield_to_training();
  if (arguments.once) return print_once(arguments, **run);
  if (arguments.json) return print_frames(arguments, **run);
  if (!takes_control_codes(STDOUT_FILENO)) return print_once(arguments, **run);
  return show(arguments, **run);
}

}  // namespace

void add_top(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<TopArguments>();
  CLI::App* verb = app.add_subcommand(kVerb, "Follow a run in the terminal while it is recorded");
  verb->add_option("store", arguments->store,
                   "the recording, running or finished, or another profiler's trace")
      ->required();
  verb->add_option("--interval", arguments->interval_s, "seconds between frames")
      ->capture_default_str()
      ->check(number_in(0.1, 3600));
  verb->add_flag("--once", arguments->once, "print one frame and exit");
  verb->add_flag(
      "--json", arguments->json,
      "print one JSON document per frame, each on its own line, until the recording ends");
  verb->add_option("--top", arguments->top_ops, "how many ops to list")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  verb->add_flag("--no-color", arguments->no_color,
                 "no colours (also: NO_COLOR in the environment)");
  verb->footer(
      "Examples:\n"
      "  stepscope run -o run.db -- python train.py &  stepscope top run.db\n"
      "  stepscope top run.db --once\n"
      "  stepscope top run.db --json | jq -c '.loops[0] | [.steps_so_far, .shares.input]'\n"
      "q or Ctrl-C quits; the run goes on unchanged. top runs at low priority, to leave the CPU to "
      "the\ntraining. If standard output is not a terminal, it prints one frame.\n"
      "Exit codes: 0 success; 2 wrong usage; 3 the store is missing or broken.");
  verb->callback([arguments, &exit_code] {
    const Status status = top(*arguments);
    exit_code = status.ok() ? kOk : report_error(kVerb, status);
  });
}

}  // namespace stepscope::cli
