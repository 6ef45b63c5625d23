// Before main(), joins a wrapped program that was linked against libtorch to the recording; at
// exit, notes its exit code. (A Python program joins once it has imported torch:
// stepscope_torch_loaded().)
//
// Joining must not happen in a constructor of this library: those of libtorch may run later, and a
// hook that is active before them crashes. When main() begins, all have run.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "profiler/channel/client.h"
#include "profiler/cupti/collector.h"
#include "profiler/session/current_thread.h"
#include "profiler/session/hook_library.h"
#include "profiler/session/session.h"

namespace {

using Main = int (*)(int, char**, char**);
using StartMain = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

Main program_main;

int joined_main(int argc, char** argv, char** environment) {
  if (stepscope::is_wrapped() && stepscope::torch_is_in_process()) {
    stepscope::Session::get().torch_is_loaded(true);
  }
  return program_main(argc, argv, environment);
}

// Runs before there are other threads: a race detector in the program cannot see that this library,
// which is not built with it, constructs its objects safely.
__attribute__((constructor)) void make_what_all_threads_share() {
  (void)stepscope::Session::get();
  (void)stepscope::ring_registry();
  (void)stepscope::Collector::get();
}

void mark_exit(int code) { stepscope::Session::get().mark_exit(code); }

using Exit = void (*)(int);
Exit next_exit;

void see_exit(int code, void*) {
  const stepscope::Session& session = stepscope::Session::get();
  mark_exit(code);
  session.report_if_unrecorded();
}

// Registered first and therefore called last, after the program's exit handlers and static
// destructors.
__attribute__((constructor)) void see_exits() {
  on_exit(see_exit, nullptr);
  next_exit = reinterpret_cast<Exit>(dlsym(RTLD_NEXT, "_exit"));
}

// Without exit handlers. Python ends its forked processes, such as loader workers, this way.
[[noreturn]] void exit_at_once(int code) {
  mark_exit(code);
  if (next_exit != nullptr) next_exit(code);
  while (true) syscall(SYS_exit_group, code);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void _exit(int code) { exit_at_once(code); }
extern "C" __attribute__((visibility("default"))) void _Exit(int code) noexcept {
  exit_at_once(code);
}

extern "C" __attribute__((visibility("default"))) int __libc_start_main(Main main, int argc,
                                                                        char** argv, void (*init)(),
                                                                        void (*fini)(),
                                                                        void (*rtld_fini)(),
                                                                        void* stack_end) {
  program_main = main;
  const auto start_main = reinterpret_cast<StartMain>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start_main(joined_main, argc, argv, init, fini, rtld_fini, stack_end);
}
