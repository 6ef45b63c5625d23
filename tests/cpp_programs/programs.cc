// Training programs that know nothing of Stepscope; each measures its own waits.
//
//   cpp_programs loader|reader|accumulation|lbfgs|evaluation|threads|inference|throws|exits|devices
//                log|loader_and_log
//                [--own FILE] [--workers N] [--kind sleep|busy|ops] [--stall-ms MS] [--batches N]
//
// Two runs print the same: one seed, one thread of libtorch's own.
#include <c10/core/Allocator.h>
#include <torch/torch.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/cpp_programs/own.h"

namespace {

constexpr std::int64_t kFeatures = 256;
constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kBatch = 32;

struct Given {
  std::string own;
  std::string kind = "sleep";
  double stall_ms = 8;
  std::size_t workers = 0;
  std::size_t batches = 80;
};

// Waits as a disk makes one wait (sleep) or as a decoder does (busy), one in libtorch's ops (ops).
void stall(const Given& given) {
  const auto until = own::Clock::now() +
                     std::chrono::microseconds(static_cast<std::int64_t>(given.stall_ms * 1000));
  if (given.kind == "sleep") return std::this_thread::sleep_until(until);
  const torch::Tensor pixels = torch::ones({64, 64});
  while (own::Clock::now() < until) {
    if (given.kind == "ops") pixels.flip(1).add(1);
  }
}

torch::nn::Sequential make_model(std::int64_t width = 1024) {
  return torch::nn::Sequential(torch::nn::Linear(kFeatures, width), torch::nn::ReLU(),
                               torch::nn::Linear(width, width), torch::nn::ReLU(),
                               torch::nn::Linear(width, kClasses));
}

torch::Tensor loss_of(torch::nn::Sequential& model, const torch::Tensor& features,
                      const torch::Tensor& labels) {
  return torch::nll_loss(torch::log_softmax(model->forward(features), 1), labels);
}

struct Batch {
  torch::Tensor features;
  torch::Tensor labels;
};

// batches × kBatch samples; each batch costs one stall, in the sample that begins it.
class Samples : public torch::data::datasets::Dataset<Samples> {
 public:
  explicit Samples(const Given& given)
      : given_(given),
        features_(torch::randn({static_cast<std::int64_t>(given.batches) * kBatch, kFeatures})),
        labels_(torch::randint(0, kClasses, {features_.size(0)})) {}

  torch::data::Example<> get(std::size_t index) override {
    if (index % kBatch == 0 && given_.stall_ms > 0) stall(given_);
    const auto row = static_cast<std::int64_t>(index);
    return {features_[row], labels_[row]};
  }
  [[nodiscard]] c10::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(features_.size(0));
  }

 private:
  Given given_;
  torch::Tensor features_;
  torch::Tensor labels_;
};

auto make_loader(const Given& given) {
  return torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      Samples(given).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(kBatch).workers(given.workers));
}

// Calls `use` with each batch of `loader`; each wait for one is timed.
template <typename Loader>
void for_each_batch(Loader& loader, own::Stopwatch& watch, const std::function<void(Batch)>& use) {
  std::optional<torch::data::Iterator<torch::data::Example<>>> at;
  const auto next = [&] {
    if (at) {
      ++*at;
    } else {
      at = loader.begin();
    }
    return *at != loader.end();
  };
  while (watch.fetch(next)) use({(**at).data, (**at).target});
}

// A reader as people write them: nobody can know that it is one.
class Reader {
 public:
  explicit Reader(const Given& given) : given_(given), left_(given.batches) {}
  bool next(Batch* batch) {
    if (left_ == 0) return false;
    --left_;
    stall(given_);
    *batch = {torch::randn({kBatch, kFeatures}), torch::randint(0, kClasses, {kBatch})};
    return true;
  }

 private:
  const Given given_;
  std::size_t left_;
};

void say_loss(const torch::Tensor& loss) { std::printf("loss %.6f\n", loss.item<double>()); }

int loader(const Given& given) {
  own::Stopwatch watch;
  auto model = make_model();
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  auto batches = make_loader(given);
  torch::Tensor loss;
  for_each_batch(*batches, watch, [&](const Batch& batch) {
    optimizer.zero_grad();
    loss = loss_of(model, batch.features, batch.labels);
    loss.backward();
    watch.update([&] { optimizer.step(); });
  });
  say_loss(loss);
  watch.save(given.own);
  return 0;
}

constexpr double kLogMs = 0.5;

void write_log(const Given& given) {
  Given log = given;
  log.stall_ms = kLogMs;
  stall(log);
}

// All batches are there already; after each update something is logged.
int log_only(const Given& given) {
  own::Stopwatch watch;
  auto model = make_model();
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  const auto features = torch::randn({kBatch, kFeatures});
  const auto labels = torch::randint(0, kClasses, {kBatch});
  for (std::size_t number = 0; number < given.batches; ++number) {
    optimizer.zero_grad();
    loss_of(model, features, labels).backward();
    watch.update([&] { optimizer.step(); });
    write_log(given);
  }
  watch.save(given.own);
  return 0;
}

int loader_and_log(const Given& given) {
  own::Stopwatch watch;
  auto model = make_model();
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  auto batches = make_loader(given);
  for_each_batch(*batches, watch, [&](const Batch& batch) {
    optimizer.zero_grad();
    loss_of(model, batch.features, batch.labels).backward();
    watch.update([&] { optimizer.step(); });
    write_log(given);
  });
  watch.save(given.own);
  return 0;
}

double train_with_reader(const Given& given, own::Stopwatch& watch) {
  auto model = make_model();
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-3));
  Reader reader(given);
  Batch batch;
  torch::Tensor loss;
  while (watch.fetch([&] { return reader.next(&batch); })) {
    loss = loss_of(model, batch.features, batch.labels);
    optimizer.zero_grad();
    loss.backward();
    watch.update([&] { optimizer.step(); });
  }
  return loss.item<double>();
}

int reader(const Given& given) {
  own::Stopwatch watch;
  std::printf("loss %.6f\n", train_with_reader(given, watch));
  watch.save(given.own);
  return 0;
}

// Four batches to an update.
int accumulation(const Given& given) {
  constexpr std::size_t kEvery = 4;
  own::Stopwatch watch;
  auto model = make_model();
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  auto batches = make_loader(given);
  torch::Tensor loss;
  std::size_t number = 0;
  for_each_batch(*batches, watch, [&](const Batch& batch) {
    loss = loss_of(model, batch.features, batch.labels) / static_cast<double>(kEvery);
    loss.backward();
    if (++number % kEvery != 0) return;
    watch.update([&] { optimizer.step(); });
    optimizer.zero_grad();
  });
  say_loss(loss);
  watch.save(given.own);
  return 0;
}

// The optimizer calls a closure that does forward and backward, several times a step.
int lbfgs(const Given& given) {
  own::Stopwatch watch;
  auto model = make_model(256);
  torch::optim::LBFGS optimizer(model->parameters(),
                                torch::optim::LBFGSOptions(0.1).max_iter(4).history_size(3));
  Reader reader(given);
  Batch batch;
  torch::Tensor loss;
  while (watch.fetch([&] { return reader.next(&batch); })) {
    watch.update([&] {
      loss = optimizer.step([&] {
        optimizer.zero_grad();
        auto closure_loss = loss_of(model, batch.features, batch.labels);
        closure_loss.backward();
        return closure_loss;
      });
    });
  }
  say_loss(loss);
  watch.save(given.own);
  return 0;
}

// A checkpoint and an evaluation every 25 steps.
int evaluation(const Given& given) {
  own::Stopwatch watch;
  own::Stopwatch not_compared;
  auto model = make_model();
  torch::optim::RMSprop optimizer(model->parameters(), torch::optim::RMSpropOptions(1e-3));
  auto batches = make_loader(given);
  Given held_out = given;
  held_out.batches = 5;
  auto evaluated = make_loader(held_out);
  std::size_t number = 0;
  for_each_batch(*batches, watch, [&](const Batch& batch) {
    optimizer.zero_grad();
    loss_of(model, batch.features, batch.labels).backward();
    watch.update([&] { optimizer.step(); });
    if (++number % 25 != 0) return;
    watch.segment("checkpoint", [&] {
      std::ostringstream checkpoint;
      torch::save(model, checkpoint);
    });
    std::int64_t right = 0;
    watch.segment("evaluation", [&] {
      const torch::NoGradGuard no_grad;
      model->eval();
      for_each_batch(*evaluated, not_compared, [&](const Batch& one) {
        right += (model->forward(one.features).argmax(1) == one.labels).sum().item<std::int64_t>();
      });
      model->train();
    });
    std::printf("step %zu: %lld right\n", number, static_cast<long long>(right));
  });
  watch.save(given.own);
  return 0;
}

// Two loops in one process, each with a model of its own; the second waits twice as long.
int threads(const Given& given) {
  std::vector<std::thread> loops;
  for (int i = 0; i < 2; ++i) {
    loops.emplace_back([given = Given(given), i]() mutable {
      given.stall_ms *= 1 + i;
      own::Stopwatch watch;
      train_with_reader(given, watch);
      if (!given.own.empty()) watch.save(given.own + "." + std::to_string(i));
    });
  }
  for (auto& loop : loops) loop.join();
  std::puts("both done");
  return 0;
}

// No optimizer and no gradient: a loader and a model.
int inference(const Given& given) {
  own::Stopwatch watch;
  auto model = make_model();
  model->eval();
  const torch::NoGradGuard no_grad;
  auto batches = make_loader(given);
  std::int64_t sum = 0;
  for_each_batch(*batches, watch, [&](const Batch& batch) {
    sum += model->forward(batch.features).argmax(1).sum().item<std::int64_t>();
  });
  std::printf("sum %lld\n", static_cast<long long>(sum));
  watch.save(given.own);
  return 0;
}

// Reports what the allocator of a second GPU would: 1 MiB more with each step, out of 1 GiB.
int devices(const Given& given) {
  auto model = make_model();
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05));
  Reader reader(given);
  Batch batch;
  for (std::int64_t mib = 1; reader.next(&batch); ++mib) {
    c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(mib << 20), 1 << 20, mib << 20,
                                     1 << 30, c10::Device(c10::DeviceType::CUDA, 1));
    optimizer.zero_grad();
    loss_of(model, batch.features, batch.labels).backward();
    optimizer.step();
  }
  own::Stopwatch().save(given.own);
  return 0;
}

// Nobody catches what is thrown in the middle of a step.
int throws(const Given& given) {
  auto model = make_model();
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05));
  Reader reader(given);
  Batch batch;
  for (std::size_t number = 0; reader.next(&batch); ++number) {
    const auto loss = loss_of(model, batch.features, batch.labels);
    loss.backward();
    if (number == given.batches / 2) throw std::runtime_error("the program's own mistake");
    optimizer.step();
    optimizer.zero_grad();
  }
  return 0;
}

int exits(const Given& given) {
  own::Stopwatch watch;
  std::printf("loss %.6f\n", train_with_reader(given, watch));
  return 42;
}

Given read_options(int argc, char** argv) {
  Given given;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const char* value = argv[i + 1];
    if (option == "--own") given.own = value;
    if (option == "--kind") given.kind = value;
    if (option == "--stall-ms") given.stall_ms = std::atof(value);
    if (option == "--workers") given.workers = static_cast<std::size_t>(std::atoi(value));
    if (option == "--batches") given.batches = static_cast<std::size_t>(std::atoi(value));
  }
  return given;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)(const Given&)> programs{
      {"loader", loader},   {"reader", reader},         {"accumulation", accumulation},
      {"lbfgs", lbfgs},     {"evaluation", evaluation}, {"threads", threads},
      {"throws", throws},   {"inference", inference},   {"exits", exits},
      {"devices", devices}, {"log", log_only},          {"loader_and_log", loader_and_log}};
  const auto program = programs.find(argc > 1 ? argv[1] : "");
  if (program == programs.end()) {
    std::fputs("usage: cpp_programs PROGRAM [--option VALUE]…; see the head of its source\n",
               stderr);
    return 2;
  }
  torch::manual_seed(0);
  torch::set_num_threads(1);
  return program->second(read_options(argc, argv));
}
