#include "wrap/add_to_lake.h"

#include <cerrno>
#include <chrono>
#include <string_view>

#include "profiler/doctor/command.h"
#include "store/contained.h"
#include "wrap/fleet_command.h"
#include "wrap/run_summary.h"

namespace stepscope {
namespace {

constexpr std::chrono::minutes kPatience(5);

std::string failure_text(const CommandErrors& ended, const std::string& python) {
  const int code = ended.exit_code;
  if (code > 128) return python + " was killed";
  if (code == 126 || code == 127) return no_python(python, code == 127 ? ENOENT : EACCES).message();
  constexpr std::string_view kPrefixes[] = {"stepscope lake: ", "stepscope: "};
  const std::string said = ended.errors.substr(0, ended.errors.find('\n'));
  for (const std::string_view prefix : kPrefixes) {
    if (said.starts_with(prefix)) return said.substr(prefix.size());
  }
  return said.empty() ? python + " ended with " + std::to_string(code) : said;
}

// "" or why not.
std::string run_command(const std::vector<std::string>& command) {
  const auto ended = capture_errors(command, kPatience);
  if (ended.ok()) return ended->exit_code == 0 ? "" : failure_text(*ended, command[0]);
  const bool too_long = ended.status().kind() == ErrorKind::kUnavailable;
  return too_long ? "it took more than five minutes" : ended.status().message();
}

}  // namespace

std::string add_to_lake(const std::string& store, const std::string& lake, bool analyzed) {
  std::string failed;
  const Status status = contained([&] {
    if (!analyzed) {
      if (Status kept = analyze_and_keep(store); !kept.ok()) return kept;
    }
    auto command = fleet_command("lake", {"add", "--lake", lake, "--", store});
    if (!command.ok()) return command.status();
    failed = run_command(*command);
    return Status();
  });
  if (!status.ok()) failed = status.message();
  if (failed.empty()) return {};
  return "not added to the lake: " + failed + "; to add it later: stepscope lake add " + store +
         " --lake " + lake;
}

}  // namespace stepscope
