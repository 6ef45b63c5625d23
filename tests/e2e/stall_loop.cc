// A libtorch training loop whose input stalls by a known share, and that measures itself: what
// Stepscope reports is compared with what the loop's own stopwatch saw.
//
//   stall_loop --share 0.3 --kind sleep|busy --output run.db
//
// Prints JSON: {"steps": [[wait_ns, step_ns, wait_cpu_ns], …]}: a step is from one wait's start to
// the next's, wait_cpu_ns what the thread's CPU clock moved by in the wait.
#include <stepscope/stepscope.h>
#include <time.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Produces batches; the next one is ready only `stall` after it was asked for.
class StallingInput {
 public:
  StallingInput(int batches, bool busy) : left_(batches), busy_(busy) {}

  void set_stall(std::chrono::nanoseconds stall) { stall_ = stall; }

  bool next(torch::Tensor* batch) {
    if (left_-- == 0) return false;
    const auto until = Clock::now() + stall_;
    if (busy_) {
      while (Clock::now() < until) {
      }
    } else if (stall_.count() > 0) {
      std::this_thread::sleep_until(until);
    }
    *batch = batch_;
    return true;
  }

 private:
  int left_;
  bool busy_;
  std::chrono::nanoseconds stall_{0};
  torch::Tensor batch_ = torch::randn({64, 256});
};

class Training {
 public:
  void step(const torch::Tensor& batch) {
    optimizer_.zero_grad();
    torch::nll_loss(torch::log_softmax(model_->forward(batch), 1), labels_).backward();
    optimizer_.step();
  }

 private:
  torch::nn::Sequential model_{torch::nn::Linear(256, 512), torch::nn::ReLU(),
                               torch::nn::Linear(512, 512), torch::nn::ReLU(),
                               torch::nn::Linear(512, 10)};
  torch::optim::Adam optimizer_{model_->parameters(), torch::optim::AdamOptions(1e-3)};
  torch::Tensor labels_ = torch::randint(0, 10, {64});
};

// How long a step without any stall takes here, so that the stall can be its wanted share.
std::chrono::nanoseconds time_step(Training& training) {
  const torch::Tensor batch = torch::randn({64, 256});
  for (int i = 0; i < 20; ++i) training.step(batch);
  const auto begin = Clock::now();
  for (int i = 0; i < 50; ++i) training.step(batch);
  return (Clock::now() - begin) / 50;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A training loop with a known input stall"};
  double share = 0;
  std::string kind = "sleep";
  std::string output = "run.db";
  int steps = 120;
  app.add_option("--share", share, "of the step that waits for input")
      ->check(CLI::Range(0.0, 0.95));
  app.add_option("--kind", kind)->check(CLI::IsMember({"sleep", "busy"}));
  app.add_option("--output", output);
  app.add_option("--steps", steps);
  CLI11_PARSE(app, argc, argv);

  torch::set_num_threads(1);
  Training training;
  StallingInput input(steps, kind == "busy");
  const auto compute = time_step(training);
  input.set_stall(std::chrono::nanoseconds(
      static_cast<std::int64_t>(static_cast<double>(compute.count()) * share / (1 - share))));

  stepscope::Recording recording({.output = output});
  std::vector<Clock::time_point> begins;
  std::vector<std::chrono::nanoseconds> waits;
  std::vector<std::int64_t> waits_cpu_ns;
  while (true) {
    torch::Tensor batch;
    const auto begin = Clock::now();
    const std::int64_t cpu_begin_ns = thread_cpu_ns();
    bool have_batch = false;
    {
      stepscope::InputWait wait("stalling");
      have_batch = input.next(&batch);
      if (!have_batch) wait.exhausted();
    }
    const std::int64_t cpu_end_ns = thread_cpu_ns();
    const auto end = Clock::now();
    begins.push_back(begin);
    if (!have_batch) break;
    waits.push_back(end - begin);
    waits_cpu_ns.push_back(cpu_end_ns - cpu_begin_ns);
    training.step(batch);
  }
  recording.stop();

  std::printf("{\"steps\": [");
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const std::chrono::nanoseconds step = begins[i + 1] - begins[i];
    std::printf("%s[%lld, %lld, %lld]", i == 0 ? "" : ", ",
                static_cast<long long>(waits[i].count()), static_cast<long long>(step.count()),
                static_cast<long long>(waits_cpu_ns[i]));
  }
  std::printf("]}\n");
  return recording.ok() ? 0 : 1;
}
