// The check, as a library that a test can load beside others with other headers.
#include "profiler/hooks/layout_check.h"

extern "C" __attribute__((visibility("default"))) bool stepscope_layout_check() {
  return stepscope::libtorch_has_the_compiled_layout();
}
