#include "profiler/doctor/try_preload.h"

#include <filesystem>
#include <string>
#include <vector>

#include "profiler/doctor/command.h"
#include "profiler/launch/child.h"
#include "profiler/launch/preload_folder.h"
#include "profiler/launch/program_file.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSanitizer = true;
#elif defined(__has_feature)
constexpr bool kHasSanitizer = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kHasSanitizer = false;
#endif

// A program that prints which libraries it has loaded.
const std::vector<std::string> kProgram{"cat", "/proc/self/maps"};

// The lines of `text` that are not in `usual`, joined into one.
std::string new_lines(const std::string& text, const std::string& usual) {
  if (text == usual) return {};
  const bool more = text.starts_with(usual);
  std::string lines = more ? text.substr(usual.size()) : text;
  while (!lines.empty() && lines.back() == '\n') lines.pop_back();
  for (char& c : lines) c = c == '\n' ? ' ' : c;
  return lines;
}

std::string file_name_of(const fs::path& library) {
  std::error_code error;
  const fs::path real = fs::canonical(library, error);
  return "/" + (error ? library : real).filename().string();
}

}  // namespace

PreloadTrialResult try_preload(const Installation& installed) {
  if (kHasSanitizer) {
    return {PreloadTrial::kNotTried, "built with a sanitizer, whose runtime cannot be preloaded"};
  }
  const auto program = inspect_program(kProgram[0]);
  if (!program.ok()) return {PreloadTrial::kNotTried, program.status().message()};
  if (program->is_static) {
    return {PreloadTrial::kNotTried, program->path.string() + " is statically linked"};
  }
  const auto folder = PreloadFolder::open(installed.libraries);
  if (!folder.ok()) return {PreloadTrial::kFails, folder.status().message()};
  const Installation named{folder->path(), installed.sources};
  const CommandOutputs bare = capture_both(kProgram, {});
  const CommandOutputs tried = capture_both(
      kProgram,
      environment_for(*program, "", named.libstepscope().string(), named.python_hooks().string()));
  if (const std::string said = new_lines(tried.errors, bare.errors); !said.empty()) {
    return {PreloadTrial::kFails, said};
  }
  if (tried.exit_code != bare.exit_code) {
    return {PreloadTrial::kFails, kProgram[0] + " ends with code " +
                                      std::to_string(tried.exit_code) + " when it is loaded"};
  }
  if (tried.output.find(file_name_of(named.libstepscope())) == std::string::npos) {
    return {PreloadTrial::kFails, "the loader does not load it, and does not say why"};
  }
  if (!folder->is_link()) return {};
  return {PreloadTrial::kWorks,
          "through a link in " + folder->path().parent_path().parent_path().string()};
}

}  // namespace stepscope
