// A loop without libtorch: steps and waits are recorded all the same.
#include <stepscope/stepscope.h>

#include <cstdio>
#include <numeric>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  stepscope::Options options;
  options.output = argv[1];
  const stepscope::Recording recording(options);
  if (!recording.ok()) return 1;

  const std::vector<std::vector<int>> batches(40, std::vector<int>(1000, 1));
  long sum = 0;
  for (const auto& batch : stepscope::input(batches, "plain")) {
    const stepscope::Scope scope("add");
    sum += std::accumulate(batch.begin(), batch.end(), 0L);
    stepscope::step();
  }
  std::printf("%ld\n", sum);
  return 0;
}
