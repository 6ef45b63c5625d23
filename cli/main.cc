// The `stepscope` binary: one verb per job.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/self_description.h"
#include "cli/verb.h"
#include "profiler/launch/child.h"
#include "terminal/terminal_out.h"

namespace stepscope::cli {

int report_error(const char* verb, const Status& status) {
  print_line(stderr, std::string("stepscope ") + verb + ": " + status.message());
  return status.kind() == ErrorKind::kUsage ? kUsageError : kBadInput;
}

namespace {

// The smallest number of letters to insert, remove, replace or swap with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const bool same = a[i - 1] == b[j - 1];
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + !same});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

// The verb that a mistyped word probably means; "" if it resembles none.
std::string nearest_verb(const CLI::App& app, const std::string& word) {
  constexpr std::size_t kLongest = 32;
  if (word.size() > kLongest) return {};
  std::string nearest;
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::size_t distance = edit_distance(word, verb->get_name());
    if (distance < least) nearest = verb->get_name();
    least = std::min(least, distance);
  }
  return nearest;
}

bool is_verb(const CLI::App& app, const std::string& word) {
  return !app.get_subcommands([&word](const CLI::App* verb) { return verb->get_name() == word; })
              .empty();
}

// What CLI11 could not place: the unknown options if there are any, else all words. (If an option
// is unknown, CLI11 also lists the "--" before the program.)
std::string unexpected_words(const CLI::App& app) {
  const auto is_option = [](const std::string& word) {
    return word.starts_with('-') && word != "--";
  };
  std::vector<std::string> words = app.remaining(true);
  if (std::any_of(words.begin(), words.end(), is_option))
    std::erase_if(words, std::not_fn(is_option));
  const bool one = words.size() == 1;
  return std::string("the following argument") + (one ? " was" : "s were") +
         " not expected: " + CLI::detail::join(words, " ");
}

// One line for wrong usage. `word`: the first one after the program's name. (CLI11's message has
// two lines and does not name the program.)
std::string usage_error(const CLI::App& app, const std::string& word, const CLI::Error& error) {
  const bool has_verb = is_verb(app, word);
  if (!has_verb && !word.starts_with('-')) {
    const std::string nearest = nearest_verb(app, word);
    return "stepscope: no verb" + (word.empty() ? "" : " \"" + word + '"') +
           (nearest.empty() ? "; " : "; did you mean `" + nearest + "`? ") +
           "`stepscope --help` lists the verbs";
  }
  const std::string program = has_verb ? "stepscope " + word : "stepscope";
  const bool unexpected = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  std::string wrong = unexpected ? unexpected_words(app) : error.what();
  // CLI11 misses the verb first.
  if (!has_verb && error.get_name() == "RequiredError") wrong = word + ": not an option";
  if (wrong.starts_with("The ")) wrong[0] = 't';
  return program + ": " + wrong + "; see `" + program + " --help`";
}

int run_verb(int argc, char** argv) {
  CLI::App app{
      "Where did each training step's time go, why, and what would the step cost if you fixed it?",
      "stepscope"};
  app.require_subcommand(1);
  app.set_version_flag("--version", STEPSCOPE_VERSION);
  add_self_description(app);
  app.footer(
      "Examples:\n"
      "  stepscope run -o run.db -- python train.py\n"
      "  stepscope analyze run.db\n"
      "  stepscope analyze run.db --json | jq .verdict\n"
      "  stepscope compare before.db after.db\n"
      "  stepscope view run.db\n"
      "  stepscope top run.db\n"
      "  stepscope report run.db -o report.html\n"
      "  stepscope export run.db -o trace.json.gz\n"
      "`stepscope VERB --help` describes each verb.");

  int exit_code = kOk;
  add_run(app, exit_code);
  add_control(app, exit_code);
  add_sweep(app, exit_code);
  add_analyze(app, exit_code);
  add_compare(app, exit_code);
  add_what_if(app, exit_code);
  add_export(app, exit_code);
  add_report(app, exit_code);
  add_view(app, exit_code);
  add_top(app, exit_code);
  add_import(app, exit_code);
  add_doctor(app, exit_code);
  add_lake(app, exit_code);
  add_fleet(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has its own exit codes. Ours are success (--help, --version) and wrong usage.
    std::ostringstream out, unused;
    if (app.exit(error, out, unused) != 0) {
      print_line(stderr, usage_error(app, argc > 1 ? argv[1] : "", error));
      return kUsageError;
    }
    const Status written = write_page(out.str());
    if (!written.ok()) print_line(stderr, "stepscope: " + written.message());
    return written.ok() ? kOk : kBadInput;
  }
  return exit_code;
}

// A store opened while a standard stream is closed would get that stream's descriptor, and be read
// or written as that stream. So /dev/null takes the descriptor, opened in the wrong direction: it
// can be neither read nor written as the stream. It is closed again in programs that are started.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    open("/dev/null", (stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

// At a limit of the file size, write() then fails; without this, SIGXFSZ ends the process. A
// handler, not SIG_IGN: exec() resets a handler, but a program that is started would inherit
// SIG_IGN.
void survive_size_limit() {
  if (std::signal(SIGXFSZ, [](int) {}) == SIG_IGN) std::signal(SIGXFSZ, SIG_IGN);
}

int report_exception(int argc, char** argv, const char* what, const char* detail) {
  try {
    const std::string verb = argc > 1 ? argv[1] : "";
    print_line(stderr, "stepscope " + verb + ": " + what + detail);
  } catch (...) {  // there is not even memory for the line
    constexpr std::string_view kLine = "stepscope: out of memory\n";
    static_cast<void>(!write(STDERR_FILENO, kLine.data(), kLine.size()));
  }
  return kBadInput;
}

}  // namespace
}  // namespace stepscope::cli

// The one exception boundary of the main thread: whatever a verb throws ends as one line. The other
// threads have their own (store/contained.h).
int main(int argc, char** argv) {
  using namespace stepscope::cli;
  occupy_closed_streams();
  survive_size_limit();
  stepscope::await_children();
  try {
    return run_verb(argc, argv);
  } catch (const std::bad_alloc&) {
    return report_exception(argc, argv, "out of memory; end other programs or raise the limit", "");
  } catch (const std::exception& error) {
    return report_exception(argc, argv, "internal error: ", error.what());
  }
}
