#include "metrics/live_metrics.h"

#include <algorithm>
#include <utility>

#include "store/trace_writer.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
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
    : plan_(plan),
      metrics_(plan.identity, plan.version),
      follower_({.take =
                     [this](const LiveFrame& frame) {
                       latest_.set(metrics_.update(frame, unix_seconds()));
                       return Status();
                     },
                 .done = [this](const Status& status) { failure_ = status; }}) {}

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
  constexpr milliseconds kFirst(1000);  // the first metrics come soon
  return follower_.start(std::min(plan_.interval, kFirst), plan_.interval);
}

void LiveMetrics::stop_reading() {
  follower_.stop();
  if (!push_) follower_.close();
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
  follower_.look();
  follower_.close();
  if (follower_.store().empty()) return;
  // Finishes what the recorder could not do while the store was open here.
  auto writer = TraceWriter::open(follower_.store());
  if (writer.ok()) static_cast<void>((*writer)->finish());
}

}  // namespace stepscope
