#include "metrics/live_metrics.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "store/contained.h"
#include "store/trace_writer.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The thread's processor time is at most 1 / kMaxOften of the run's time.
constexpr int kMaxOften = 50;

milliseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return milliseconds(time.tv_sec * 1000 + time.tv_nsec / 1'000'000);
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// On a busy machine, this thread gets a tenth of what the training gets, like `stepscope top`.
void yield_to_training() {
  constexpr int kNice = 10;
  ::setpriority(PRIO_PROCESS, 0, kNice);  // on Linux, of this thread alone
}

}  // namespace

std::unique_ptr<LiveMetrics> LiveMetrics::open(const MetricsPlan& plan,
                                               std::vector<std::string>& problems) {
  std::unique_ptr<LiveMetrics> metrics(new LiveMetrics(plan));
  if (plan.listen) {
    auto server = ScrapeServer::listen(*plan.listen, metrics->latest_);
    if (server.ok()) {
      metrics->server_ = *std::move(server);
    } else {
      problems.push_back("no metrics are served: " + server.status().message() +
                         "; --metrics 0 takes any free port");
    }
  }
  if (plan.otlp) {
    auto push = OtlpPush::prepare(*plan.otlp, plan.version, metrics->latest_);
    if (push.ok()) {
      metrics->push_ = *std::move(push);
    } else {
      problems.push_back("no metrics are sent over OTLP: " + push.status().message());
    }
  }
  if (metrics->server_ == nullptr && metrics->push_ == nullptr) return nullptr;
  return metrics;
}

LiveMetrics::LiveMetrics(const MetricsPlan& plan)
    : plan_(plan), metrics_(plan.identity, plan.version) {}

LiveMetrics::~LiveMetrics() { stop_reading(); }

std::optional<ListenAddress> LiveMetrics::address() const {
  return server_ ? std::optional(server_->address()) : std::nullopt;
}

Status LiveMetrics::start() {
  if (server_) {
    if (Status status = server_->start(); !status.ok()) return status;
  }
  if (push_) {
    if (Status status = push_->start(); !status.ok()) return status;
  }
  try {
    thread_ = std::thread([this] {
      failure_ = contained([this] {
        run();
        return failure_;
      });
    });
  } catch (const std::system_error&) {
    return Status::error(ErrorKind::kIo, "cannot start a thread; raise ulimit -u");
  }
  return {};
}

void LiveMetrics::follow(const std::filesystem::path& store) {
  const MutexLock lock(mutex_);
  if (!followed_.empty()) return;
  followed_ = store;
  changed_.notify_all();
}

void LiveMetrics::stop_reading() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (!push_) run_.reset();
}

std::vector<std::string> LiveMetrics::finish() {
  stop_reading();
  if (push_) read_the_end();
  std::vector<std::string> lines;
  if (!failure_.ok()) lines.push_back("the metrics are incomplete: " + failure_.message());
  if (push_) {
    push_->stop();
    if (const std::string problem = push_->problem(); !problem.empty()) lines.push_back(problem);
  }
  return lines;
}

// Nobody scrapes any more, but the collector gets the totals of the run.
void LiveMetrics::read_the_end() {
  {
    const MutexLock lock(mutex_);
    store_ = followed_;
  }
  if (store_.empty()) return;
  failure_ = contained([this] { return refresh(); });
  run_.reset();
  // Finishes what the recorder could not do while the store was open here.
  if (auto writer = TraceWriter::open(store_); writer.ok()) static_cast<void>((*writer)->finish());
}

void LiveMetrics::run() {
  yield_to_training();
  if (!wait_for_store()) return;
  milliseconds pause = std::min(plan_.interval, milliseconds(1000));  // the first metrics come soon
  while (wait(pause)) {
    const milliseconds before = processor_time();
    failure_ = refresh();
    pause = std::max(plan_.interval, (processor_time() - before) * kMaxOften);
  }
}

// If the store cannot be read now, the next call may succeed.
Status LiveMetrics::refresh() {
  if (run_ == nullptr) {
    auto opened = LiveRun::open(store_);
    if (!opened.ok()) return opened.status();
    run_ = *std::move(opened);
  }
  const auto frame = run_->refresh();
  if (!frame.ok()) {
    run_.reset();
    return frame.status();
  }
  latest_.set(metrics_.update(**frame, unix_seconds()));
  return {};
}

bool LiveMetrics::wait_for_store() {
  const MutexLock lock(mutex_);
  while (!stopping_ && followed_.empty()) changed_.wait(mutex_);
  store_ = followed_;
  return !stopping_;
}

bool LiveMetrics::wait(milliseconds duration) {
  const auto until = Clock::now() + duration;
  const MutexLock lock(mutex_);
  while (!stopping_ && changed_.wait_until(mutex_, until)) {
  }
  return !stopping_;
}

}  // namespace stepscope
