#include "profiler/session/recorder_library.h"

#include <dlfcn.h>

#include "profiler/session/own_folder.h"

// Defined if the recorder is linked in, as in the tests; else looked up in its library.
extern "C" {
__attribute__((weak)) void stepscope_start_recorder(const stepscope::RecorderStart&,
                                                    stepscope::StartedRecorder&) noexcept;
__attribute__((weak)) void stepscope_install_fork_handlers();
}

namespace stepscope {

Result<RecorderLibrary> load_recorder_library() {
  if (stepscope_start_recorder != nullptr) {
    return RecorderLibrary{stepscope_start_recorder, stepscope_install_fork_handlers};
  }
  const std::string path = own_folder() / "stepscope" / "libstepscope_recorder.so";
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Status::error(ErrorKind::kUnavailable,
                         std::string("not recorded: ") + dlerror() + "; reinstall Stepscope");
  }
  RecorderLibrary library;
  library.start = reinterpret_cast<StartRecorder>(dlsym(handle, "stepscope_start_recorder"));
  library.install_fork_handlers =
      reinterpret_cast<InstallForkHandlers>(dlsym(handle, "stepscope_install_fork_handlers"));
  if (library.start == nullptr || library.install_fork_handlers == nullptr) {
    return Status::error(
        ErrorKind::kUnavailable,
        "not recorded: " + path + ": belongs to another Stepscope; reinstall Stepscope");
  }
  return library;
}

}  // namespace stepscope
