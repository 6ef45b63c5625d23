// A training loop that uses CUDA, by the stand-in, and knows of Stepscope only what op hooks do:
// batches are copied, two kernels and a graph launched, and the loss waited for, step by step.
//
//   cuda_program STEPS
#include <chrono>
#include <cstdlib>
#include <thread>

#include "profiler/session/current_thread.h"
#include "stepscope/stepscope.h"
#include "tests/profiler/cupti/stand_in/stand_in.h"

namespace {

using namespace stepscope::stand_in;

constexpr std::uint64_t kKernelTicks = 200'000;  // some 0.1 ms

// What a hook does for an op.
template <typename Work>
void op(const char* name, Work work) {
  stepscope::ThreadRecorder* recorder = stepscope::current_thread();
  if (recorder != nullptr) {
    recorder->start_op({&work, name, -1, 0, stepscope::OpScope::kFunction});
  }
  work();
  if (recorder != nullptr) recorder->end_op(&work);
}

void train_on_a_batch() {
  op("aten::to", [] { cudaMemcpyAsync_stand_in(1 << 20, true, 7, kKernelTicks / 4); });
  op("aten::linear", [] {
    op("aten::addmm", [] { cudaLaunchKernel_stand_in("_Z4gemmIfEvPT_", 7, kKernelTicks); });
  });
  op("aten::relu", [] { cudaLaunchKernel_stand_in("_Z4reluv", 7, kKernelTicks); });
  op("GraphedBackward", [] { cudaGraphLaunch_stand_in("_Z8backwardv", 5, 7, kKernelTicks / 5); });
  op("aten::item", [] { cudaStreamSynchronize_stand_in(7); });
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 20;
  for (int i = 0; i < steps; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // preparing the batch
    train_on_a_batch();
    stepscope::step();
  }
  return 0;
}
