// A libtorch training loop whose input stalls by a known share, and that measures itself: what
// Stepscope reports is compared with what the loop's own stopwatch saw.
//
//   stall_loop --share 0.3 --kind sleep|busy --step-ms 5 --steps 120 --output run.db
//              --case plain|outside|evaluation|epochs|every20
//
//   plain       each batch is waited for
//   outside     the same; a labelled scope is around the training only, the wait lies outside of it
//   evaluation  every 25 steps a loader of held-out data is waited for too, and holds the stalls
//   epochs      every 20 steps the input is made anew, and its first batch holds the stalls
//   every20     every 20th batch holds the stalls
//
// Prints JSON: {"steps": [[wait_ns, step_ns, wait_cpu_ns], …]}: a step is from one training wait's
// start to the next's, wait_ns is the sum of its stalls, and wait_cpu_ns is what the thread's CPU
// clock moved by meanwhile. What the recorder does when a wait begins and ends is part of the step,
// not of the stall: without a recorder it would not be there.
#include <stepscope/stepscope.h>
#include <time.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr int kEpoch = 20;       // steps, also between two stalls of every20
constexpr int kEvaluation = 25;  // steps between two evaluations
constexpr int kHeldOut = 5;      // batches of an evaluation

struct Given {
  double share = 0;
  double step_ms = 5;
  std::string kind = "sleep";
  std::string kase = "plain";
  std::string output = "run.db";
  int steps = 120;
};

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Waits as a disk makes one wait (sleep) or as a decoder does (busy).
void stall(const std::string& kind, nanoseconds time) {
  const auto until = Clock::now() + time;
  if (kind == "sleep" && time.count() > 0) return std::this_thread::sleep_until(until);
  while (Clock::now() < until) {
  }
}

// The loop's own stopwatch.
class Stopwatch {
 public:
  void begin_step() {
    const auto now = Clock::now();
    end_step(now);
    steps_.push_back({now});
  }
  // Runs `get`, and counts its time as waited. So is reading the CPU clock, which takes 1 to 3 µs:
  // the program does it while the recorder sees it wait.
  template <typename Get>
  void wait(Get get) {
    const auto begin = Clock::now();
    const std::int64_t cpu_begin_ns = thread_cpu_ns();
    get();
    steps_.back().wait_cpu_ns += thread_cpu_ns() - cpu_begin_ns;
    steps_.back().wait += Clock::now() - begin;
  }
  void end_step(Clock::time_point now) {
    if (!steps_.empty()) steps_.back().length = now - steps_.back().begin - steps_.back().paused;
  }
  // Runs `work`, which is no part of the step; its waits are not the step's.
  template <typename Work>
  void pause(Work work) {
    const auto begin = Clock::now();
    const Step before = steps_.back();
    work();
    paused_wait_ += steps_.back().wait - before.wait;
    steps_.back() = before;
    const nanoseconds length = Clock::now() - begin;
    steps_.back().paused += length;
    paused_ += length;
  }
  void print() const {
    std::printf("{\"steps\": [");
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      std::printf("%s[%lld, %lld, %lld]", i == 0 ? "" : ", ",
                  static_cast<long long>(steps_[i].wait.count()),
                  static_cast<long long>(steps_[i].length.count()),
                  static_cast<long long>(steps_[i].wait_cpu_ns));
    }
    std::printf("], \"paused\": [%lld, %lld]}\n", static_cast<long long>(paused_wait_.count()),
                static_cast<long long>(paused_.count()));
  }

 private:
  struct Step {
    Clock::time_point begin;
    nanoseconds wait{0};
    nanoseconds length{0};
    nanoseconds paused{0};
    std::int64_t wait_cpu_ns = 0;
  };
  std::vector<Step> steps_;
  nanoseconds paused_{0}, paused_wait_{0};
};

// A step takes `compute`: a training step of a small network, and products of matrices until then.
class Training {
 public:
  void step(const torch::Tensor& batch) {
    const auto until = Clock::now() + compute_;
    optimizer_.zero_grad();
    auto hidden = model_->forward(batch);
    torch::nll_loss(torch::log_softmax(hidden, 1), labels_).backward();
    while (Clock::now() < until - product_) multiply();
    optimizer_.step();
  }

  void evaluate(const torch::Tensor& batch) {
    const torch::NoGradGuard no_grad;
    model_->forward(batch);
  }

  // Warms up, and times a product. From then on a step takes `compute`.
  void prepare(const torch::Tensor& batch, nanoseconds compute) {
    for (int i = 0; i < 20; ++i) step(batch);
    for (int i = 0; i < 20; ++i) multiply();
    compute_ = compute;
    const auto begin = Clock::now();
    for (int i = 0; i < 20; ++i) multiply();
    product_ = (Clock::now() - begin) / 20;
  }

 private:
  void multiply() {
    const torch::NoGradGuard no_grad;
    torch::mm_out(product_of_, factor_, factor_);
  }

  nanoseconds compute_{0};
  nanoseconds product_{0};
  torch::nn::Sequential model_{torch::nn::Linear(64, 64), torch::nn::ReLU(),
                               torch::nn::Linear(64, 10)};
  torch::optim::SGD optimizer_{model_->parameters(), torch::optim::SGDOptions(1e-3)};
  torch::Tensor labels_ = torch::randint(0, 10, {16});
  torch::Tensor factor_ = torch::randn({96, 96});
  torch::Tensor product_of_ = torch::empty({96, 96});
};

// The loop, and where in it the input stalls. All cases stall by the same share of all time.
class Loop {
 public:
  explicit Loop(const Given& given)
      : given_(given),
        stall_(of_step(given.share) * steps_a_stall() /
               (given.kase == "evaluation" ? kHeldOut : 1)) {
    training_.prepare(batch_, of_step(1 - given.share));
  }

  void run() {
    for (int step = 0; step < given_.steps; ++step) {
      const bool begins_epoch = given_.kase == "epochs" && step % kEpoch == 0;
      if (begins_epoch && step > 0) stopwatch_.pause([] { find_exhausted(); });
      stopwatch_.begin_step();
      fetch(stalls_at(step) ? stall_ : nanoseconds(0), "training");
      train();
      if (given_.kase == "evaluation" && (step + 1) % kEvaluation == 0)
        stopwatch_.pause([&] { evaluate(); });
    }
    stopwatch_.end_step(Clock::now());
    find_exhausted();
  }
  void print() const { stopwatch_.print(); }

 private:
  [[nodiscard]] nanoseconds of_step(double share) const {
    return nanoseconds(static_cast<std::int64_t>(given_.step_ms * 1e6 * share));
  }
  [[nodiscard]] int steps_a_stall() const {
    if (given_.kase == "evaluation") return kEvaluation;
    return given_.kase == "epochs" || given_.kase == "every20" ? kEpoch : 1;
  }
  [[nodiscard]] bool stalls_at(int step) const {
    if (given_.kase == "evaluation") return false;
    if (given_.kase == "every20") return step % kEpoch == kEpoch - 1;
    return step % steps_a_stall() == 0;
  }

  void fetch(nanoseconds time, const char* loader) {
    const stepscope::InputWait wait(loader);
    stopwatch_.wait([&] { stall(given_.kind, time); });
  }

  // The end of an epoch: the wait that finds no batch any more. It begins no step; the last one
  // ends there.
  static void find_exhausted() {
    stepscope::InputWait wait("training");
    wait.exhausted();
  }

  void train() {
    std::optional<stepscope::Scope> scope;
    if (given_.kase == "outside") scope.emplace("training step");
    training_.step(batch_);
  }

  void evaluate() {
    for (int i = 0; i < kHeldOut; ++i) {
      fetch(stall_, "held out");
      training_.evaluate(batch_);
    }
  }

  Given given_;
  torch::Tensor batch_ = torch::randn({16, 64});
  Training training_;
  nanoseconds stall_;
  Stopwatch stopwatch_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A training loop with a known input stall"};
  Given given;
  app.add_option("--share", given.share, "of the time that waits for input")
      ->check(CLI::Range(0.0, 0.95));
  app.add_option("--step-ms", given.step_ms, "a step, its wait included");
  app.add_option("--kind", given.kind)->check(CLI::IsMember({"sleep", "busy"}));
  app.add_option("--case", given.kase)
      ->check(CLI::IsMember({"plain", "outside", "evaluation", "epochs", "every20"}));
  app.add_option("--output", given.output);
  app.add_option("--steps", given.steps);
  CLI11_PARSE(app, argc, argv);

  torch::set_num_threads(1);
  Loop loop(given);
  // Stalls of some steps only are compared over all steps: with ops in all, all of them count.
  const double budget = given.kase == "plain" || given.kase == "outside" ? 0.02 : 0;
  stepscope::Recording recording({.output = given.output, .budget = budget});
  loop.run();
  recording.stop();
  loop.print();
  return recording.ok() ? 0 : 1;
}
