// The cost of recording per op: the same loop of small ops without a profiler, with an empty
// RecordFunction callback (the minimum cost of any op profiler), with Stepscope while its recorder
// drains on another core, and with the PyTorch profiler. The rounds are interleaved in one process,
// so that other load on the machine affects all alike. The result is the median over rounds.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <stepscope/stepscope.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "analyzer/median.h"
#include "bench/hooks/mode.h"
#include "profiler/ring/clock.h"
#include "store/trace_reader.h"

namespace stepscope::bench {
namespace {

class NoProfiler final : public Mode {
 public:
  std::string name() const override { return "none"; }
  void start() override {}
  void stop() override {}
};

// A RecordFunction callback that consists of two plain functions.
class Callback : public Mode {
 public:
  Callback(std::string name, at::RecordFunctionCallback callback)
      : name_(std::move(name)), callback_(callback) {}
  std::string name() const override { return name_; }
  void start() override { handle_ = at::addGlobalCallback(callback_); }
  void stop() override { at::removeCallback(handle_); }

 private:
  std::string name_;
  at::RecordFunctionCallback callback_;
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
};

// The minimum cost of any op profiler.
std::unique_ptr<Mode> empty_callback() {
  return std::make_unique<Callback>(
      "empty_callback",
      at::RecordFunctionCallback(
          [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> { return nullptr; },
          [](const at::RecordFunction&, at::ObserverContext*) {}));
}

// The minimum cost of a profiler that measures time: two clock readings, nothing stored.
volatile std::uint64_t clock_sink = 0;
std::unique_ptr<Mode> clock_callback() {
  return std::make_unique<Callback>(
      "clock_callback", at::RecordFunctionCallback(
                            [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
                              clock_sink = to_count(read_ticks());
                              return nullptr;
                            },
                            [](const at::RecordFunction&, at::ObserverContext*) {
                              clock_sink = to_count(read_ticks());
                            }));
}

class StepscopeMode final : public Mode {
 public:
  explicit StepscopeMode(std::string store) : store_(std::move(store)) {}
  std::string name() const override { return "stepscope"; }
  void start() override {
    Options options;
    options.output = store_;
    recording_ = std::make_unique<Recording>(options);
    if (!recording_->ok()) std::exit(1);
  }
  void stop() override {
    recording_.reset();
    count_events();
  }
  [[nodiscard]] std::int64_t events() const { return events_; }
  [[nodiscard]] std::int64_t lost() const { return lost_; }

 private:
  void count_events() {
    const auto reader = TraceReader::open(store_);
    if (!reader.ok()) std::exit(1);
    const auto count = (*reader)->op_count();
    const auto losses = (*reader)->losses();
    if (!count.ok() || !losses.ok()) std::exit(1);
    events_ += *count;
    for (const Loss& loss : *losses) lost_ += loss.count;
  }

  std::string store_;
  std::unique_ptr<Recording> recording_;
  std::int64_t events_ = 0;
  std::int64_t lost_ = 0;
};

// ns per op of `ops` small in-place additions: one RecordFunction each, nothing allocated.
double time_ops(int ops) {
  at::Tensor sum = at::zeros({1});
  const at::Tensor one = at::ones({1});
  for (int i = 0; i < 1000; ++i) sum.add_(one);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < ops; ++i) sum.add_(one);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / ops;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(": ") + 2);
  }
  return "unknown";
}

nlohmann::json run(int rounds, int ops, const std::string& store) {
  std::vector<std::unique_ptr<Mode>> modes;
  modes.push_back(std::make_unique<NoProfiler>());
  modes.push_back(empty_callback());
  modes.push_back(clock_callback());
  auto owned = std::make_unique<StepscopeMode>(store);
  const StepscopeMode& stepscope = *owned;
  modes.push_back(std::move(owned));
  if (auto kineto = kineto_mode()) modes.push_back(std::move(kineto));

  std::map<std::string, std::vector<double>> times;
  for (int round = 0; round < rounds; ++round) {
    std::rotate(modes.begin(), modes.begin() + 1, modes.end());  // nobody always goes first
    for (const auto& mode : modes) {
      mode->start();
      times[mode->name()].push_back(time_ops(ops));
      mode->stop();
    }
  }

  const double none = upper_median(times["none"]);
  const double empty = upper_median(times["empty_callback"]) - none;
  nlohmann::json result{{"benchmark", "hook_cost"},
                        {"libtorch", STEPSCOPE_TORCH_VERSION},
                        {"cpu", cpu_model()},
                        {"cores", std::thread::hardware_concurrency()},
                        {"rounds", rounds},
                        {"ops_per_round", ops},
                        {"events_recorded", stepscope.events()},
                        {"events_lost", stepscope.lost()}};
  for (const auto& [name, values] : times) {
    const double op = upper_median(values);
    result["modes"][name] = {
        {"ns_per_op", op}, {"cost_ns", op - none}, {"cost_vs_empty_callback", (op - none) / empty}};
  }
  return result;
}

void print(const nlohmann::json& result) {
  std::printf("hook cost · libtorch %s · %s · %d rounds of %d ops\n\n",
              result["libtorch"].get<std::string>().c_str(),
              result["cpu"].get<std::string>().c_str(), result["rounds"].get<int>(),
              result["ops_per_round"].get<int>());
  std::printf("  %-18s %10s %14s %20s\n", "mode", "ns an op", "costs ns", "× empty callback");
  for (const auto& [name, mode] : result["modes"].items()) {
    std::printf("  %-18s %10.1f %14.1f %20.2f\n", name.c_str(), mode["ns_per_op"].get<double>(),
                mode["cost_ns"].get<double>(), mode["cost_vs_empty_callback"].get<double>());
  }
  std::printf("\n  %lld events recorded, %lld lost\n", result["events_recorded"].get<long long>(),
              result["events_lost"].get<long long>());
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) {
  CLI::App app{"The cost of recording per op, against an empty callback and the PyTorch profiler"};
  int rounds = 21;
  int ops = 200'000;
  std::string json;
  app.add_option("--rounds", rounds, "interleaved rounds")->capture_default_str();
  app.add_option("--ops", ops, "ops per round and mode")->capture_default_str();
  app.add_option("--json", json, "also write the result to this file");
  CLI11_PARSE(app, argc, argv);

  at::set_num_threads(1);
  const auto folder =
      std::filesystem::temp_directory_path() / ("stepscope-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const nlohmann::json result = stepscope::bench::run(rounds, ops, (folder / "run.db").string());
  std::filesystem::remove_all(folder);
  stepscope::bench::print(result);
  if (!json.empty()) std::ofstream(json) << result.dump(2) << '\n';
}
