// The loops that bench/overhead/run.py measures, in C++; loop.py is the same in Python.
//
//   overhead_loop --model mlp|cnn --steps N --report FILE [--profiler torch --output FILE]
//   overhead_loop --blocks SECONDS --report FILE       for bench/overhead/parts.py
//
// Writes JSON: ns of each step, when the loop ended (CLOCK_MONOTONIC ns), and the peak RSS in
// bytes. With --blocks: for each block of steps, which parts of Stepscope were on, and the ns of
// its steps.
#include <dlfcn.h>
#include <sys/resource.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/torch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace nn = torch::nn;
namespace profiler = torch::autograd::profiler;

// steady_clock is CLOCK_MONOTONIC with libstdc++ on Linux.
std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Many small ops: about 1,000 per step, including autograd nodes.
nn::Sequential mlp() {
  nn::Sequential network;
  for (int i = 0; i < 16; ++i) {
    network->push_back(nn::Linear(32, 32));
    network->push_back(nn::ReLU());
  }
  network->push_back(nn::Linear(32, 10));
  return network;
}

// Few large ops.
nn::Sequential cnn() {
  nn::Sequential network;
  const std::vector<int> channels{3, 32, 64, 64};
  for (std::size_t i = 0; i + 1 < channels.size(); ++i) {
    network->push_back(nn::Conv2d(nn::Conv2dOptions(channels[i], channels[i + 1], 3).padding(1)));
    network->push_back(nn::BatchNorm2d(channels[i + 1]));
    network->push_back(nn::ReLU());
    network->push_back(nn::MaxPool2d(2));
  }
  network->push_back(nn::Flatten());
  network->push_back(nn::Linear(64 * 16, 10));
  return network;
}

// A separate function, so that bench/overhead/instructions.py can count its instructions.
[[gnu::noinline]] std::vector<std::int64_t> train(nn::Sequential& network,
                                                  const torch::Tensor& batch, int steps) {
  torch::optim::SGD optimizer(network->parameters(), torch::optim::SGDOptions(1e-3).momentum(0.9));
  const torch::Tensor labels = torch::randint(0, 10, {batch.size(0)});
  std::vector<std::int64_t> took;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t begin = now_ns();
    optimizer.zero_grad();
    nn::functional::cross_entropy(network->forward(batch), labels).backward();
    optimizer.step();
    took.push_back(now_ns() - begin);
  }
  return took;
}

// Switches the recorder (bit 0), the marks of phases (bit 1) and the counting of tensors' memory
// (bit 2) on and off, at random. As run_loop() in parts.py.
nlohmann::json run_blocks(nn::Sequential& network, const torch::Tensor& batch, double seconds) {
  constexpr int kSteps = 33;
  constexpr std::size_t kRecorderBlocks = 10;
  const auto bypass = reinterpret_cast<void (*)(unsigned)>(dlsym(RTLD_DEFAULT, "bypass_parts"));
  if (bypass == nullptr) throw std::runtime_error("needs LD_PRELOAD=libbypass.so");
  std::minstd_rand random;
  const auto below = [&random](unsigned limit) {
    return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
  };
  unsigned runs = 1;
  nlohmann::json blocks = nlohmann::json::array();
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (now_ns() < end) {
    if (blocks.size() % kRecorderBlocks == 0) {
      runs = below(2);
      kill(getppid(), runs != 0 ? SIGCONT : SIGSTOP);
    }
    const unsigned on = below(4) << 1U | runs;
    bypass(~on >> 1U & 3U);
    blocks.push_back({on, train(network, batch, kSteps)});
  }
  kill(getppid(), SIGCONT);
  return blocks;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A training loop to measure the slowdown of profilers with"};
  std::string model = "mlp";
  std::string report;
  std::string profiled_by = "none";
  std::string output;
  int steps = 100;
  double blocks = 0;
  app.add_option("--model", model)->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--steps", steps);
  app.add_option("--blocks", blocks, "seconds");
  app.add_option("--report", report)->required();
  app.add_option("--profiler", profiled_by)->check(CLI::IsMember({"none", "torch"}));
  app.add_option("--output", output, "the file for the profiler's result");
  CLI11_PARSE(app, argc, argv);

  at::set_num_threads(1);
  torch::manual_seed(0);
  nn::Sequential network = model == "mlp" ? mlp() : cnn();
  const torch::Tensor batch =
      model == "mlp" ? torch::randn({64, 32}) : torch::randn({24, 3, 32, 32});
  train(network, batch, 10);  // touches memory for the first time

  if (blocks > 0) {
    std::ofstream(report) << run_blocks(network, batch, blocks) << '\n';
    return 0;
  }
  const bool kineto = profiled_by == "torch";
  if (kineto) {
    const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
    const std::set<profiler::ActivityType> activities{profiler::ActivityType::CPU};
    profiler::prepareProfiler(config, activities);
    profiler::enableProfiler(config, activities);
  }
  const std::vector<std::int64_t> took = train(network, batch, steps);
  const std::int64_t ended = now_ns();
  if (kineto) profiler::disableProfiler()->save(output + ".json");

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const nlohmann::json result{
      {"step_ns", took}, {"ended_ns", ended}, {"peak_rss_bytes", usage.ru_maxrss * 1024}};
  std::ofstream(report) << result << '\n';
}
