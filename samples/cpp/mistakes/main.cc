// Inference with one production mistake, or without it (--fixed), to show what `stepscope analyze`
// finds and what the fix gains. The C++ twin of samples/python/mistakes.
//
//   stepscope run -o run.db -- mistakes --mistake grad
#include <stepscope/stepscope.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "samples/cpp/command_line.h"
#include "samples/cpp/mistakes/gpu_mistakes.h"
#include "samples/cpp/mistakes/models.h"

namespace mistakes {
namespace {

constexpr std::int64_t kLength = 32;  // of the sentences, except for `lengths`
constexpr std::int64_t kBatch = 16;

struct Options {
  std::string mistake;
  bool fixed = false;
  int calls = 320;  // with the mistake; the fixed program processes as many samples
};

struct Batch {
  torch::Tensor data;
  std::vector<std::int64_t> lengths;  // of sentences; empty: images
};

// A program: the model, its batches, and how the labels are read.
struct Program {
  std::function<torch::Tensor(const torch::Tensor&)> model;
  std::vector<Batch> batches;
  bool gradients = false;
  bool label_by_label = false;
};

// Log-normal, as are the lengths of real sentences, roughly.
std::vector<std::int64_t> lengths_of_all_kinds(std::size_t count) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> lengths(3.2, 0.6);
  std::vector<std::int64_t> result(count);
  for (std::int64_t& length : result)
    length =
        std::clamp(static_cast<std::int64_t>(lengths(random)), std::int64_t{4}, std::int64_t{128});
  return result;
}

// Batches of `size` sentences, each padded with 0 to the longest of its batch.
std::vector<Batch> batches_of(const std::vector<std::int64_t>& lengths, std::int64_t size) {
  std::vector<Batch> batches;
  for (std::size_t at = 0; at < lengths.size(); at += static_cast<std::size_t>(size)) {
    const std::size_t end = std::min(lengths.size(), at + static_cast<std::size_t>(size));
    Batch batch;
    batch.lengths.assign(lengths.begin() + static_cast<std::ptrdiff_t>(at),
                         lengths.begin() + static_cast<std::ptrdiff_t>(end));
    const auto count = static_cast<std::int64_t>(batch.lengths.size());
    const std::int64_t longest = *std::max_element(batch.lengths.begin(), batch.lengths.end());
    batch.data = torch::zeros({count, longest}, torch::kInt64);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t length = batch.lengths[static_cast<std::size_t>(i)];
      batch.data[i].slice(0, 0, length) = torch::randint(1, kWords, {length}, torch::kInt64);
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

std::vector<Batch> sentences(const Options& options, std::int64_t batch) {
  const auto count = static_cast<std::size_t>(options.calls * batch);
  return batches_of(std::vector<std::int64_t>(count, kLength), batch);
}

std::function<torch::Tensor(const torch::Tensor&)> encoder(const EncoderSize& size) {
  Encoder model(size);
  model->eval();
  return [model](const torch::Tensor& tokens) mutable { return model->forward(tokens); };
}

Program grad(const Options& options) {
  return {encoder({}), sentences(options, 4), !options.fixed};
}

Program train(const Options& options) {
  torch::nn::Sequential net = conv_net();
  net->train(!options.fixed);
  Program program;
  program.model = [net](const torch::Tensor& images) mutable { return net->forward(images); };
  for (int i = 0; i < options.calls; ++i)
    program.batches.push_back({torch::rand({kBatch, 3, 32, 32}), {}});
  return program;
}

Program single(const Options& options) {
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(options.calls), kLength);
  return {encoder({}), batches_of(lengths, options.fixed ? kBatch : 1)};
}

Program lengths(const Options& options) {
  auto all = lengths_of_all_kinds(static_cast<std::size_t>(options.calls * kBatch));
  if (options.fixed) std::sort(all.begin(), all.end(), std::greater<>());
  std::vector<Batch> batches = batches_of(all, kBatch);
  // Shuffled, so that lengths do not change steadily over time.
  std::shuffle(batches.begin(), batches.end(), std::mt19937(2));
  return {encoder({128, 4, 2}), std::move(batches)};
}

Program item(const Options& options) {
  return {encoder({16, 1, 1}), sentences(options, 64), false, !options.fixed};
}

const std::map<std::string, Program (*)(const Options&)> kMistakes = {
    {"grad", grad}, {"train", train}, {"single", single}, {"lengths", lengths}, {"item", item}};

void count_labels(const torch::Tensor& logits, bool label_by_label,
                  std::map<std::int64_t, std::int64_t>& seen) {
  const auto [scores, labels] = logits.max(1);
  const auto add = [&seen](double score, std::int64_t label) { ++seen[score > 0 ? label : -1]; };
  const std::int64_t samples = labels.size(0);
  if (label_by_label) {
    for (std::int64_t i = 0; i < samples; ++i)
      add(scores[i].item<double>(), labels[i].item<std::int64_t>());
    return;
  }
  const auto score = scores.accessor<float, 1>();
  const auto label = labels.accessor<std::int64_t, 1>();
  for (std::int64_t i = 0; i < samples; ++i) add(score[i], label[i]);
}

// How many samples got each label.
std::map<std::int64_t, std::int64_t> serve(const Program& program) {
  std::map<std::int64_t, std::int64_t> seen;
  std::optional<torch::NoGradGuard> no_grad;
  if (!program.gradients) no_grad.emplace();
  for (const Batch& batch : stepscope::input(program.batches, "sentences")) {
    stepscope::lengths(batch.lengths);
    count_labels(program.model(batch.data), program.label_by_label, seen);
  }
  return seen;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void serve_sentences(const Options& options) {
  const Program program = kMistakes.at(options.mistake)(options);
  const auto start = Clock::now();
  const auto seen = serve(program);
  const double seconds = seconds_since(start);
  std::int64_t samples = 0;
  for (const auto& [label, count] : seen) samples += count;
  std::printf("%lld samples in %zu calls, %.2f ms each, %.0f samples/s\n",
              static_cast<long long>(samples), program.batches.size(),
              1e3 * seconds / static_cast<double>(program.batches.size()),
              static_cast<double>(samples) / seconds);
}

bool time_on_gpu(const Options& options) {
  if (!torch::cuda::is_available()) {
    std::fprintf(stderr, "mistakes: --mistake %s needs a GPU, and this libtorch sees none\n",
                 options.mistake.c_str());
    return false;
  }
  const GpuProgram program = kGpuMistakes.at(options.mistake)(options.fixed);
  const auto start = Clock::now();
  serve_on_gpu(program, options.calls);
  std::printf("%d calls, %.2f ms each\n", options.calls,
              1e3 * seconds_since(start) / options.calls);
  return true;
}

bool run(const Options& options) {
  torch::manual_seed(1);
  torch::set_num_threads(1);
  if (kGpuMistakes.contains(options.mistake)) return time_on_gpu(options);
  serve_sentences(options);
  return true;
}

std::set<std::string> names() {
  std::set<std::string> all;
  for (const auto& [name, make] : kMistakes) all.insert(name);
  for (const auto& [name, make] : kGpuMistakes) all.insert(name);
  return all;
}

}  // namespace
}  // namespace mistakes

int main(int argc, char** argv) {
  mistakes::Options options;
  CLI::App app("Inference with one production mistake, or without it");
  app.add_option("--mistake", options.mistake,
                 "the mistake; pageable, sync, host, cudnn and idle need a GPU")
      ->required()
      ->check(CLI::IsMember(mistakes::names()));
  app.add_flag("--fixed", options.fixed, "without the mistake");
  app.add_option("--calls", options.calls, "calls of the program with the mistake")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  samples::parse_or_exit(app, argc, argv);
  return mistakes::run(options) ? 0 : 1;
}
