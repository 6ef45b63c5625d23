// stepscope control: tells a running `stepscope run` what to do.
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "cli/verb.h"
#include "profiler/channel/listener.h"
#include "store/trace_reader.h"
#include "terminal/terminal_out.h"

namespace stepscope::cli {
namespace {

constexpr const char* kVerb = "control";

struct ControlArguments {
  std::string store;
  std::string command;
};

const std::map<std::string, ControlCommand>& commands() {
  static const std::map<std::string, ControlCommand> all{{"start", ControlCommand::kStartOps},
                                                         {"stop", ControlCommand::kStopOps},
                                                         {"auto", ControlCommand::kFollowPlan},
                                                         {"status", ControlCommand::kStatus}};
  return all;
}

Result<std::string> ask(const ControlArguments& arguments) {
  const auto reader = TraceReader::open(arguments.store);
  if (!reader.ok()) return reader.status();
  const std::string socket = (*reader)->meta(kSocketMeta).value_or("");
  if (socket.empty() || !(*reader)->being_recorded()) {
    return Status::error(ErrorKind::kNotFound,
                         arguments.store + ": no `stepscope run` is recording into it");
  }
  auto reply = ask_recorder(socket, commands().at(arguments.command));
  if (reply.ok()) return reply;
  return Status::error(reply.status().kind(), arguments.store + ": " + reply.status().message());
}

int run_control(const ControlArguments& arguments) {
  const auto reply = ask(arguments);
  if (!reply.ok()) return report_error(kVerb, reply.status());
  print_line(stdout, *reply);
  return kOk;
}

}  // namespace

void add_control(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ControlArguments>();
  CLI::App* verb = app.add_subcommand(kVerb, "Switch op recording of a running program on or off");
  verb->add_option("store", arguments->store, "the store that `stepscope run` is writing")
      ->required();
  verb->add_option("command", arguments->command,
                   "start or stop: switch the recording of ops on or off; auto: follow --steps or "
                   "--schedule again; status: print the progress")
      ->required()
      ->check(CLI::IsMember({"start", "stop", "auto", "status"}));
  verb->footer(
      "Examples:\n"
      "  stepscope run --tier phases -o run.db -- python train.py &\n"
      "  stepscope control run.db start; sleep 5; stepscope control run.db stop\n"
      "  stepscope control run.db status\n"
      "Exit codes: 0 success; 2 wrong usage; 3 nothing is recording into that store.");
  verb->callback([arguments, &exit_code] { exit_code = run_control(*arguments); });
}

}  // namespace stepscope::cli
