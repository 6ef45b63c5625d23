#include "profiler/identity/program_name.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace stepscope {
namespace {

using Words = std::vector<std::string>;
using Found = std::optional<ProgramName>;

// Programs that start another program, which a later word names.
constexpr std::string_view kLaunchers[] = {
    "accelerate", "catchsegv", "chrt",     "composer",      "conda",    "coverage", "deepspeed",
    "env",        "gdb",       "hatch",    "horovodrun",    "ionice",   "kernprof", "mamba",
    "micromamba", "mpiexec",   "mpirun",   "mpiexec.hydra", "ncu",      "nice",     "nohup",
    "nsys",       "numactl",   "orterun",  "perf",          "pipenv",   "pixi",     "poetry",
    "prlimit",    "setsid",    "srun",     "stdbuf",        "strace",   "sudo",     "taskset",
    "time",       "timeout",   "torchrun", "unbuffer",      "valgrind", "uv",       "viztracer",
    "xvfb-run"};
constexpr std::string_view kLaunchingModules[] = {"accelerate.commands.accelerate_cli",
                                                  "accelerate.commands.launch",
                                                  "cProfile",
                                                  "coverage",
                                                  "debugpy",
                                                  "deepspeed.launcher.runner",
                                                  "kernprof",
                                                  "memory_profiler",
                                                  "pdb",
                                                  "profile",
                                                  "torch.distributed.launch",
                                                  "torch.distributed.run",
                                                  "torch.utils.bottleneck",
                                                  "trace",
                                                  "viztracer"};
constexpr std::string_view kShells[] = {"sh", "bash", "dash", "zsh", "ksh", "busybox"};
// Subcommands of launchers: `accelerate launch`, `uv run`, `nsys profile`.
constexpr std::string_view kOrders[] = {"exec", "launch", "profile", "record", "run", "stat"};

template <std::size_t kSize>
bool is_one_of(std::string_view word, const std::string_view (&known)[kSize]) {
  return std::find(std::begin(known), std::end(known), word) != std::end(known);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// "python", "python3.13t", "pypy3"
bool is_python(const std::string& word) {
  const std::string base = base_name(word);
  for (const std::string_view stem : {"python", "pypy"}) {
    if (base.starts_with(stem))
      return base.find_first_not_of("0123456789.t", stem.size()) == std::string::npos;
  }
  return false;
}

bool is_script(const std::string& word) {
  return !is_option(word) && word.find('=') == std::string::npos &&
         (word.ends_with(".py") || word.ends_with(".pyc"));
}

// Such as "pkg.train".
bool is_module(const std::string& word) {
  const auto belongs = [](unsigned char c) {
    return c == '.' || c == '_' || (c >= '0' && c <= '9') ||
           ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  };
  return !word.empty() && !(word[0] >= '0' && word[0] <= '9') &&
         std::all_of(word.begin(), word.end(), belongs);
}

ProgramName of_file(const std::string& path) { return {base_name(path), path}; }

Found name_at(const Words& words, std::size_t at);

// The first Python or script among the words from `at` on.
Found find_script(const Words& words, std::size_t at) {
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (is_python(word)) return name_at(words, at);
    if (is_script(word)) return of_file(word);
    const bool names_module = word == "-m" || word == "--module";
    if (names_module && at + 1 < words.size() && is_module(words[at + 1]))
      return ProgramName{words[at + 1], {}};
  }
  return std::nullopt;
}

// Whether a word may be the program of a launcher: it is no option, number, variable or subcommand.
bool may_be_program(const std::string& word) {
  return !word.empty() && word[0] != '-' && !(word[0] >= '0' && word[0] <= '9') &&
         word.find('=') == std::string::npos && !is_one_of(word, kOrders);
}

// The program that a launcher starts. We do not know which of the launcher's options take a value.
Found find_launched(const Words& words, std::size_t at) {
  if (Found script = find_script(words, at)) return script;
  for (std::size_t i = at; i < words.size(); ++i) {
    const bool may_be_value = i > at && is_option(words[i - 1]) && words[i - 1] != "--" &&
                              words[i - 1].find('=') == std::string::npos;
    if (may_be_program(words[i]) && !may_be_value) return name_at(words, i);
  }
  return std::nullopt;
}

// The module or script `found` or, if it is a launcher, the program that it starts.
Found unless_launcher(ProgramName found, bool launches, const Words& words, std::size_t next) {
  if (launches) {
    if (Found launched = find_launched(words, next)) return launched;
  }
  return found;
}

// Parses the options of a Python; see `python --help`.
Found of_python(const Words& words, std::size_t at) {
  const std::string python = base_name(words[at]);
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--check-hash-based-pycs") ++i;
    if (word == "-") break;
    if (word.starts_with("--")) continue;
    if (word.empty() || word[0] != '-')
      return unless_launcher(of_file(word), is_one_of(base_name(word), kLaunchers), words, i + 1);
    const std::size_t letter = word.find_first_of("cmWX", 1);
    if (letter == std::string::npos) continue;
    const bool apart = letter + 1 == word.size();  // its value is the next word
    if (word[letter] == 'c') return ProgramName{python + " -c", {}};
    if (word[letter] == 'm') {
      const std::string module = !apart                 ? word.substr(letter + 1)
                                 : i + 1 < words.size() ? words[i + 1]
                                                        : std::string();
      if (module.empty()) break;
      return unless_launcher({module, {}}, is_one_of(module, kLaunchingModules), words,
                             i + (apart ? 2 : 1));
    }
    if (apart) ++i;
  }
  return ProgramName{python, words[at]};
}

Found of_shell(const Words& words, std::size_t at) {
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    if (!is_option(words[i])) return of_file(words[i]);
    const bool has_text = words[i][1] != '-' && words[i].ends_with('c') && i + 1 < words.size();
    if (!has_text) continue;
    // The text is a shell script, which we do not parse. Usually it contains a plain command.
    std::string text = words[i + 1];
    std::replace_if(
        text.begin(), text.end(),
        [](char c) { return std::string_view("'\";&|()").find(c) != std::string_view::npos; }, ' ');
    std::istringstream stream(text);
    Words inner;
    for (std::string word; stream >> word;) inner.push_back(word);
    if (Found script = find_script(inner, 0)) return script;
    return ProgramName{base_name(words[at]) + " -c", {}};
  }
  return of_file(words[at]);
}

Found name_at(const Words& words, std::size_t at) {
  const std::string base = base_name(words[at]);
  if (is_python(base)) return of_python(words, at);
  if (is_one_of(base, kShells)) return of_shell(words, at);
  return unless_launcher(of_file(words[at]), is_one_of(base, kLaunchers), words, at + 1);
}

}  // namespace

ProgramName name_program(const std::vector<std::string>& words) {
  constexpr std::size_t kMaxWords = 256;  // the program's name comes long before
  if (words.empty()) return {};
  const std::size_t count = std::min(words.size(), kMaxWords);
  const Words first(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
  return name_at(first, 0).value_or(of_file(words[0]));
}

}  // namespace stepscope
