#include "samples/cpp/mnist/train.h"

#include <stepscope/stepscope.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>

#include "samples/cpp/mnist/loader.h"
#include "samples/cpp/step_log.h"

namespace mnist {
namespace {

using samples::StepLog;

constexpr std::int64_t kHidden = 128;
constexpr double kLearningRate = 1e-3;

torch::nn::Sequential make_model(std::int64_t pixels) {
  return torch::nn::Sequential(torch::nn::Flatten(), torch::nn::Linear(pixels, kHidden),
                               torch::nn::ReLU(), torch::nn::Linear(kHidden, kClasses));
}

double accuracy(torch::nn::Sequential& model, const Batch& test) {
  const stepscope::Scope scope("evaluation");
  const torch::NoGradGuard no_grad;
  const torch::Tensor predicted = model->forward(test.images).argmax(1);
  return predicted.eq(test.labels).to(torch::kFloat32).mean().item<double>();
}

void train_epoch(Epoch& epoch, torch::nn::Sequential& model, torch::optim::Optimizer& optimizer,
                 StepLog& log) {
  for (const Batch& batch : stepscope::input(epoch, "mnist")) {
    log.batch_arrived();
    optimizer.zero_grad();
    const torch::Tensor loss =
        torch::nn::functional::cross_entropy(model->forward(batch.images), batch.labels);
    loss.backward();
    optimizer.step();
    stepscope::step();
    log.step_ended();
  }
}

void print_mean(const char* which, const StepLog::Mean& mean) {
  std::printf("%-16s %6zu steps, each %.3f ms, of which %.3f ms (%.1f %%) waiting for input\n",
              which, mean.steps, mean.step_ms, mean.input_ms, 100 * mean.input_share());
}

void print_log(const StepLog& log, const Options& options) {
  const StepLog::Mean all = log.mean(1, log.size());
  std::printf("%.0f steps/s by the program's own clock\n", 1e3 / all.step_ms);
  print_mean("all", all);
  if (options.first_step == 0) return;
  const auto first = static_cast<std::size_t>(options.first_step);
  const StepLog::Mean window = log.mean(first, static_cast<std::size_t>(options.last_step));
  if (window.steps > 0) {
    const std::string name =
        std::to_string(options.first_step) + "-" + std::to_string(options.last_step);
    print_mean(name.c_str(), window);
  } else if (!options.record.empty()) {
    std::fprintf(stderr,
                 "mnist: there were only %zu steps, so no op of step %zu or later was recorded; "
                 "use --steps\n",
                 log.size(), first);
  }
}

}  // namespace

void train(const Dataset& dataset, const Options& options) {
  if (options.threads > 0) torch::set_num_threads(options.threads);
  torch::manual_seed(options.seed);
  const auto count = static_cast<std::int64_t>(dataset.train.size());
  torch::nn::Sequential model =
      make_model(std::int64_t{dataset.train.rows()} * dataset.train.columns());
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(kLearningRate));
  const BatchMaker maker(dataset.train,
                         options.cache ? BatchMaker::Cache::kOn : BatchMaker::Cache::kOff);
  const Batch test = BatchMaker(dataset.test, BatchMaker::Cache::kOff)
                         .make(torch::arange(static_cast<std::int64_t>(dataset.test.size())));

  std::optional<stepscope::Recording> recording;
  if (!options.record.empty()) {
    recording.emplace(stepscope::Options{.output = options.record,
                                         .window = {options.first_step, options.last_step}});
  }
  StepLog log;
  for (int number = 1; number <= options.epochs; ++number) {
    Epoch epoch(maker, {torch::randperm(count), options.batch, options.prefetch});
    log.restart();
    train_epoch(epoch, model, optimizer, log);
    std::printf("epoch %d: test accuracy %.2f %%\n", number, 100 * accuracy(model, test));
  }
  recording.reset();
  print_log(log, options);
}

}  // namespace mnist
