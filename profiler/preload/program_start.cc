// Before main() and at exit: where a wrapped program that was linked against libtorch is joined to
// the recording. (A Python program is joined when it has imported torch: stepscope_torch_loaded().)
//
// Not in a constructor of this library: those of libtorch may run later, and a hook that is active
// before them crashes. When main() begins, all have run.
#include <dlfcn.h>

#include "profiler/channel/client.h"
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

// Before there are other threads: a race detector in the program does not see how this library,
// which is not built with it, makes its objects safely.
__attribute__((constructor)) void make_what_all_threads_share() {
  (void)stepscope::Session::get();
  (void)stepscope::ring_registry();
}

// Late among the destructors: after exit handlers and static objects of the program.
__attribute__((destructor)) void at_exit() {
  if (stepscope::is_wrapped()) stepscope::Session::get().mark_exit();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int __libc_start_main(Main main, int argc,
                                                                        char** argv, void (*init)(),
                                                                        void (*fini)(),
                                                                        void (*rtld_fini)(),
                                                                        void* stack_end) {
  program_main = main;
  const auto start_main = reinterpret_cast<StartMain>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start_main(joined_main, argc, argv, init, fini, rtld_fini, stack_end);
}
