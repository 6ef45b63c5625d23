#include "profiler/doctor/try_hooks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "profiler/channel/channel_format.h"
#include "profiler/channel/listener.h"
#include "profiler/hooks/hook_api.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

HookTrialResult load_all(const fs::path& hooks, const fs::path& libstepscope,
                         const TorchInstall& torch) {
  if (dlopen(torch.library.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    return {HookTrial::kTorchDoesNotLoad, dlerror()};
  }
  // Found by its name when the hooks ask for it, as in a wrapped program.
  if (dlopen(libstepscope.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    return {HookTrial::kRefused, dlerror()};
  }
  void* library = dlopen(hooks.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {HookTrial::kRefused, dlerror()};
  const auto get_hooks = reinterpret_cast<GetHooks>(dlsym(library, kGetHooksSymbol));
  if (get_hooks == nullptr) return {HookTrial::kRefused, "not a Stepscope hook library"};
  const char* error = "";
  const bool given = get_hooks(STEPSCOPE_HOOKS_ID, torch.version.c_str(), &error) != nullptr;
  return given ? HookTrialResult{} : HookTrialResult{HookTrial::kRefused, error};
}

// An outcome as a byte, then the text.
[[noreturn]] void report(int fd, const HookTrialResult& result) {
  const std::string message = static_cast<char>(result.outcome) + result.why;
  (void)!write(fd, message.data(), message.size());
  _exit(0);
}

// What libraries say while they are loaded is nobody's concern here.
void be_quiet() {
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
}

HookTrialResult received(int fd, pid_t child) {
  char message[2048];
  const ssize_t size = read(fd, message, sizeof(message));
  int status = 0;
  waitpid(child, &status, 0);
  if (size > 0) {
    return {static_cast<HookTrial>(message[0]),
            std::string(message + 1, static_cast<std::size_t>(size) - 1)};
  }
  const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it exited";
  return {HookTrial::kRefused, "the process that loaded it died (" + how + ")"};
}

}  // namespace

HookTrialResult try_hooks(const fs::path& hooks, const fs::path& libstepscope,
                          const TorchInstall& torch) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {HookTrial::kRefused, std::strerror(errno)};
  const OwnedFd read_end(ends[0]);
  OwnedFd write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return {HookTrial::kRefused, std::strerror(errno)};
  if (child == 0) {
    be_quiet();
    unsetenv(kSocketVariable);  // nothing to record here, should somebody wrap us
    report(write_end.get(), load_all(hooks, libstepscope, torch));
  }
  write_end = OwnedFd();
  return received(read_end.get(), child);
}

}  // namespace stepscope
