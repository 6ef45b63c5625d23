#include "wrap/metrics_of_run.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "metrics/wandb_endpoints.h"
#include "profiler/recorder/blocked_signals.h"
#include "store/contained.h"
#include "wrap/run_names.h"

namespace stepscope {
namespace {

constexpr char kVariable[] = "STEPSCOPE_METRICS";
// For the program's Python, which logs the metrics into trackers
// (profiler/python/stepscope/_trackers.py).
constexpr char kUrlVariable[] = "STEPSCOPE_METRICS_URL";
constexpr char kIntervalVariable[] = "STEPSCOPE_METRICS_INTERVAL";

// What the environment requests if the option is not given.
struct Wish {
  bool off = false;
  std::optional<ListenAddress> listen{};
};

bool is_one_of(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (text == word) return true;
  }
  return false;
}

Result<Wish> read_variable(const std::string& text) {
  if (text.empty()) return Wish{};
  if (is_one_of(text, {"off", "no", "false", "0"})) return Wish{.off = true};
  if (is_one_of(text, {"on", "yes", "true", "1"})) return Wish{.listen = ListenAddress()};
  const auto address = read_listen_address(text);
  if (!address.ok()) return address.status();
  return Wish{.listen = *address};
}

// Names runs and jobs as `stepscope lake add` does.
RunIdentity identify_run(const std::string& job, const std::vector<std::string>& program) {
  const RunNames names = name_run(job, program);
  const std::string run =
      names.run.empty() ? run_by_its_start(names.program, std::time(nullptr)) : names.run;
  return {.job = names.job, .run = run, .host = names.host};
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace

Result<MetricsOfRun> MetricsOfRun::open(const MetricsArguments& arguments, const std::string& job,
                                        const std::vector<std::string>& program) {
  MetricsOfRun run;
  MetricsPlan plan;
  plan.interval = milliseconds_of(arguments.interval_s);
  run.interval_s_ = arguments.interval_s;
  plan.version = STEPSCOPE_VERSION;
  plan.identity = identify_run(job, program);
  if (arguments.wanted) {
    const auto address = read_listen_address(arguments.address);
    if (!address.ok()) return address.status();
    plan.listen = *address;
  } else {
    const auto wish = read_variable(variable_of_this_process(kVariable));
    if (wish.ok() && wish->off) return run;
    if (wish.ok()) plan.listen = wish->listen;
    if (!wish.ok())
      run.problems_.push_back(std::string(kVariable) + ": " + wish.status().message());
  }
  const auto otlp = otlp_settings(variable_of_this_process);
  if (otlp.ok()) plan.otlp = *otlp;
  if (!otlp.ok()) run.problems_.push_back("no metrics are sent: " + otlp.status().message());
  if (plan.listen || plan.otlp) run.metrics_ = LiveMetrics::open(plan, run.problems_);
  return run;
}

void MetricsOfRun::add_to(Environment& environment) {
  const auto address = metrics_ ? metrics_->address() : std::nullopt;
  if (!address) return;
  environment.emplace_back(kUrlVariable, address->url());
  environment.emplace_back(kIntervalVariable, std::to_string(interval_s_));
  const auto value = add_wandb_endpoint(variable_of_this_process(kWandbVariable), address->url());
  if (value.ok()) {
    environment.emplace_back(kWandbVariable, *value);
  } else {
    problems_.push_back(value.status().message());
  }
}

std::vector<std::string> MetricsOfRun::start(bool quiet) noexcept {
  const Status started = contained([&] {
    if (!metrics_) return Status();
    const BlockedSignals blocked;
    Status status = metrics_->start();
    if (!status.ok()) return status;
    const auto address = metrics_->address();
    if (address && !quiet) problems_.push_back("metrics at " + address->url());
    return status;
  });
  if (!started.ok()) problems_.push_back("no metrics: " + started.message());
  return std::exchange(problems_, {});
}

void MetricsOfRun::follow(const std::string& store) {
  if (metrics_) metrics_->follow(store);
}

void MetricsOfRun::stop_reading() noexcept {
  static_cast<void>(contained([&] {
    if (metrics_) metrics_->stop_reading();
    return Status();
  }));
}

std::vector<std::string> MetricsOfRun::finish() noexcept {
  std::vector<std::string> lines;
  static_cast<void>(contained([&] {
    if (metrics_) lines = metrics_->finish();
    metrics_.reset();
    return Status();
  }));
  return lines;
}

}  // namespace stepscope
