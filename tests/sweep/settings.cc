// A program to sweep: what a step of it costs, what it holds and how it ends is told by its
// arguments. It marks its steps by the C interface alone, so no libtorch is needed.
//
//   settings [--batch N] [--length N] [--format NAME] [--steps N] [--fixed-us N] [--each-us N]
//   [--wait-us N]
//            [--hold-mib N] [--fail-above N] [--crash-above N] [--sleep S] [--log FILE]
//
// A step takes fixed + each × batch of CPU time and waits `wait` for its input; hold × batch MiB
// are held. With a batch above fail-above it says so and exits with 2, above crash-above it aborts.
#include <stepscope/stepscope.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

using Options = std::map<std::string, std::string>;

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  return options;
}

long number(const Options& options, const std::string& name, long otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : std::atol(found->second.c_str());
}

void work(std::chrono::microseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

// Every page of it is touched.
std::vector<char> hold(long mib) {
  return std::vector<char>(static_cast<std::size_t>(mib) << 20, 1);
}

void log_start(const Options& options) {
  const auto file = options.find("--log");
  if (file == options.end()) return;
  std::FILE* log = std::fopen(file->second.c_str(), "a");
  if (log == nullptr) return;
  std::fprintf(log, "%ld\n", number(options, "--batch", 1));
  std::fclose(log);
}

void loop(const Options& options) {
  const long batch = number(options, "--batch", 1);
  const bool slow = options.count("--format") > 0 && options.at("--format") == "slow";
  const std::chrono::microseconds each(number(options, "--fixed-us", 200) +
                                       number(options, "--each-us", 10) * batch);
  const long wait = number(options, "--wait-us", 0);
  for (long step = 0; step < number(options, "--steps", 40); ++step) {
    {
      const stepscope::InputWait input("settings");
      if (wait > 0) work(std::chrono::microseconds(wait));
    }
    work(slow ? 2 * each : each);
    stepscope::step();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  log_start(options);
  const long batch = number(options, "--batch", 1);
  if (batch > number(options, "--fail-above", 1'000'000)) {
    std::fprintf(stderr, "settings: a batch of %ld is too much\n", batch);
    return 2;
  }
  if (batch > number(options, "--crash-above", 1'000'000)) std::abort();
  // Programs with libtorch are joined before they hold anything.
  {
    const stepscope::Scope joins("start");
  }
  const std::vector<char> held = hold(number(options, "--hold-mib", 0) * batch);
  sleep(static_cast<unsigned>(number(options, "--sleep", 0)));
  loop(options);
  std::printf("held %zu\n", held.size());
  return 0;
}
