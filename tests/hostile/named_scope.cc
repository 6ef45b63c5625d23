// A library that is loaded and unloaded again; built twice, with names of the same length.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

extern "C" __attribute__((visibility("default"))) const char* name_of_scope() {
  return STEPSCOPE_NAMED_SCOPE;
}

// As a user's own preloaded library: does something that can be seen.
__attribute__((constructor)) static void say_that_it_is_here() {
  if (std::getenv("SAY_THAT_IT_IS_HERE") == nullptr) return;
  static const char text[] = "the user's own library is here\n";
  (void)!write(STDERR_FILENO, text, std::strlen(text));
}
