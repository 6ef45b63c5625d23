// Programs that record while they exit:
//
//   exits static OUTPUT            the destructor of a static object starts a recording
//   exits thread OUTPUT            a thread starts one recording after another until the end
//   exits main-thread-ends OUTPUT  a thread starts one after the main thread ended with
//   pthread_exit()
//
// Each prints what became of its recording, and exits with 7.
#include <pthread.h>
#include <stepscope/stepscope.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

std::string output;
bool starts_at_the_end = false;

void train(int steps) {
  const torch::Tensor weight = torch::ones({16, 16}, torch::requires_grad());
  torch::optim::SGD optimizer({weight}, 0.01);
  for (int i = 0; i < steps; ++i) {
    weight.matmul(weight).sum().backward();
    optimizer.step();
    optimizer.zero_grad();
  }
}

void record() {
  const stepscope::Recording recording({.output = output});
  train(20);
  std::printf("%s\n", recording.ok() ? "recorded" : recording.error().c_str());
}

struct Late {
  ~Late() {
    if (starts_at_the_end) record();
  }
};
const Late late;

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string_view kind = arguments[1];
  output = arguments[2];
  if (kind == "static") {
    starts_at_the_end = true;
  } else if (kind == "thread") {
    std::thread([] {
      while (true) {
        const stepscope::Recording recording({.output = output});
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }).detach();
    train(1000);
  } else {
    std::thread([main = pthread_self()] {
      pthread_join(main, nullptr);
      record();
      std::fflush(stdout);
      std::exit(7);
    }).detach();
    pthread_exit(nullptr);
  }
  return 7;
}
