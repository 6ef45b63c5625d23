#include "cli/run_metrics.h"

#include <sys/utsname.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "metrics/wandb_endpoints.h"
#include "profiler/identity/program_name.h"
#include "profiler/recorder/blocked_signals.h"
#include "profiler/recorder/run_meta.h"
#include "store/contained.h"

namespace stepscope::cli {
namespace {

constexpr char kVariable[] = "STEPSCOPE_METRICS";

// What the environment asks for where the option is not given.
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

// Empty, or what is wrong.
std::string is_listen_address(const std::string& text) {
  const auto address = read_listen_address(text);
  return address.ok() ? "" : address.status().message() + "; -- goes before the program";
}

// As `stepscope lake add` names runs and jobs.
RunIdentity identify_run(const std::string& job, const std::vector<std::string>& program) {
  const JobIdentity identity = own_identity();
  const std::string script = name_program(program).name;
  utsname system{};
  uname(&system);
  RunIdentity run;
  run.job = !job.empty() ? job : !identity.job_name.empty() ? identity.job_name : script;
  run.run = run_id(identity);
  if (run.run.empty()) run.run = run_by_its_start(script, std::time(nullptr));
  run.host = system.nodename;
  return run;
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace

void add_metrics_options(CLI::App& verb, MetricsArguments& arguments) {
  arguments.option =
      verb.add_option("--metrics", arguments.address,
                      "serve live metrics to Prometheus and W&B, at this port or address and port")
          ->expected(0, 1)
          ->check(is_listen_address)
          ->type_name("[ADDRESS:]PORT")
          ->default_str(std::to_string(kMetricsPort));
  verb.add_option("--metrics-interval", arguments.interval_s,
                  "seconds between two updates of the metrics")
      ->check(CLI::Range(0.2, 3600.0))
      ->capture_default_str();
}

Result<MetricsOfRun> MetricsOfRun::open(const MetricsArguments& arguments, const std::string& job,
                                        const std::vector<std::string>& program) {
  MetricsOfRun run;
  MetricsPlan plan;
  plan.interval = milliseconds_of(arguments.interval_s);
  plan.version = STEPSCOPE_VERSION;
  plan.identity = identify_run(job, program);
  const bool given = arguments.option != nullptr && arguments.option->count() > 0;
  if (given) {
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

}  // namespace stepscope::cli
