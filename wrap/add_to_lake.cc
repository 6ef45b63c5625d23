#include "wrap/add_to_lake.h"

#include <cerrno>
#include <chrono>
#include <sstream>
#include <string_view>

#include "profiler/doctor/command.h"
#include "store/contained.h"
#include "wrap/fleet_command.h"
#include "wrap/run_summary.h"

namespace stepscope {
namespace {

constexpr std::chrono::minutes kPatience(5);
constexpr std::chrono::minutes kPatienceWithPiece(1);

std::string failure_text(const CommandOutputs& ended, const std::string& python) {
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

// Returns the standard output of `stepscope lake WORDS`.
Result<std::string> run_lake(const std::vector<std::string>& words, std::chrono::minutes patience) {
  const auto command = fleet_command("lake", words);
  if (!command.ok()) return command.status();
  const auto ended = capture_within(*command, patience);
  if (ended.ok() && ended->exit_code == 0) return ended->output;
  if (ended.ok()) return Status::error(ErrorKind::kIo, failure_text(*ended, (*command)[0]));
  const bool too_long = ended.status().kind() == ErrorKind::kUnavailable;
  const std::string minutes = patience == kPatience ? "five minutes" : "a minute";
  return Status::error(ended.status().kind(),
                       too_long ? "it took more than " + minutes : ended.status().message());
}

// The lines "ops RANK".
std::vector<std::int64_t> ranks_in(const std::string& text) {
  std::vector<std::int64_t> ranks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    std::int64_t rank = 0;
    if (words >> word >> rank && word == "ops") ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

bool is_address(const std::string& lake) { return lake.find("://") != std::string::npos; }

std::string add_to_lake(const std::string& store, const std::string& lake, bool analyzed) {
  const Status status = contained([&] {
    if (!analyzed) {
      if (Status kept = analyze_and_keep(store); !kept.ok()) return kept;
    }
    return run_lake({"add", "--lake", lake, "--", store}, kPatience).status();
  });
  if (status.ok()) return {};
  return "not added to the lake: " + status.message() + "; to add it later: stepscope lake add " +
         store + " --lake " + lake;
}

Result<std::vector<std::int64_t>> add_piece_to_lake(const std::string& piece,
                                                    const std::string& lake, double watch_s) {
  std::vector<std::string> words{"add", "--lake", lake};
  if (watch_s > 0) words.insert(words.end(), {"--watch", std::to_string(watch_s)});
  words.insert(words.end(), {"--", piece});
  const auto said = run_lake(words, kPatienceWithPiece);
  if (!said.ok()) return said.status();
  return ranks_in(*said);
}

}  // namespace stepscope
