// make_trace_store KIND PATH [NUMBER]: what the browser tests and the end-to-end benchmarks export
// and report.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/store/testing/synthetic_run.h"
#include "tests/viewer-export/testing/code_store.h"
#include "tests/viewer-export/testing/trace_stores.h"

int main(int argc, char** argv) {
  using namespace stepscope;
  const std::string_view kind = argc > 2 ? argv[1] : "";
  Status status = Status::error(
      ErrorKind::kUsage,
      "usage: make_trace_store {hostile|killed|served|tensors} PATH | large PATH OPS | steps PATH "
      "STEPS | code PATH [FOLDER]");
  if (kind == "hostile" && argc == 3) status = testing::make_hostile_store(argv[2]);
  if (kind == "served" && argc == 3) status = testing::make_served_store(argv[2]);
  if (kind == "tensors" && argc == 3) status = testing::make_tensor_store(argv[2]);
  if (kind == "code" && (argc == 3 || argc == 4)) {
    status = testing::make_code_store(argv[2], argc == 4 ? argv[3] : "/nowhere");
  }
  if (kind == "killed" && argc == 3) {
    const testing::SyntheticRun run{.steps = 30, .rank = 1, .killed_by = 9, .samples = true};
    testing::make_store(argv[2], run, /*analysed=*/true);
    status = Status();
  }
  if (kind == "large" && argc == 4) {
    status = testing::make_large_store(argv[2], std::strtoll(argv[3], nullptr, 10));
  }
  if (kind == "steps" && argc == 4) {
    const int steps = std::atoi(argv[3]);
    // 102 ops a step.
    const testing::SyntheticRun run{
        .steps = steps, .ops_per_phase = 17, .slow_step = steps / 2, .samples = true};
    testing::make_store(argv[2], run);
    status = Status();
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}
