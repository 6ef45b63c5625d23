#include "profiler/doctor/try_cupti.h"

#include <dlfcn.h>

#include "profiler/cupti/cupti_library.h"
#include "profiler/doctor/in_child.h"

namespace stepscope {
namespace {

CuptiTrial load(const std::filesystem::path& path, bool with_driver) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {"", std::string("does not load: ") + dlerror()};
  const auto cupti = find_cupti_functions(library, path);
  if (!cupti.ok()) return {"", cupti.status().message()};
  CuptiTrial trial;
  std::uint32_t version = 0;
  if (cupti->get_version(&version) == 0) trial.version = "API version " + std::to_string(version);
  if (!with_driver) return trial;
  if (const auto unknown = find_unknown_record(measure_record_sizes(cupti->next_record))) {
    trial.why = std::string("is unknown to this Stepscope (") + unknown->kind + " records of " +
                std::to_string(unknown->bytes) + " bytes)";
  }
  return trial;
}

}  // namespace

CuptiTrial try_cupti(const std::filesystem::path& library, bool with_driver) {
  const ChildAnswer answer = ask_child([&] {
    const CuptiTrial trial = load(library, with_driver);
    return trial.version + "\n" + trial.why;
  });
  const std::size_t line = answer.text.find('\n');
  if (!answer.answered || line == std::string::npos) return {"", answer.text};
  return {answer.text.substr(0, line), answer.text.substr(line + 1)};
}

}  // namespace stepscope
