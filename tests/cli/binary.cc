#include "tests/cli/binary.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "store/shell_word.h"

namespace stepscope::testing {
namespace {

// A file of its own, gone with the object.
class TempFile {
 public:
  TempFile() {
    const int file = mkstemp(path_.data());
    if (file >= 0) close(file);
  }
  ~TempFile() { unlink(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/stepscope_out_XXXXXX";
};

}  // namespace

Outcome run_program(const std::vector<std::string>& arguments) {
  const TempFile out, err;
  std::string command;
  for (const std::string& argument : arguments) command += shell_word(argument) + " ";
  command += "> " + shell_word(out.path()) + " 2> " + shell_word(err.path());
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = contents(out.path());
  outcome.err = contents(err.path());
  return outcome;
}

Outcome run_stepscope(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), STEPSCOPE_BINARY);
  return run_program(arguments);
}

std::string contents(const std::filesystem::path& path) {
  std::ostringstream bytes;  // not by iterators: without optimisation they take 100 ms a megabyte
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(bytes).str();
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace stepscope::testing
