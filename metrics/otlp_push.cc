#include "metrics/otlp_push.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "metrics/otlp_json.h"
#include "store/contained.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{200};       // how often the first steps are looked for
constexpr milliseconds kLastPush{1000};  // for the push after the program has ended

std::int64_t unix_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<std::unique_ptr<OtlpPush>> OtlpPush::prepare(OtlpSettings settings, std::string version,
                                                    const LatestMetrics& latest) {
  auto client = HttpClient::load();
  if (!client.ok()) return client.status();
  return std::unique_ptr<OtlpPush>(
      new OtlpPush(std::move(settings), std::move(version), latest, *std::move(client)));
}

OtlpPush::OtlpPush(OtlpSettings settings, std::string version, const LatestMetrics& latest,
                   std::unique_ptr<HttpClient> client)
    : settings_(std::move(settings)),
      version_(std::move(version)),
      latest_(latest),
      start_unix_ns_(unix_ns()),
      client_(std::move(client)) {}

Status OtlpPush::start() {
  try {
    thread_ = std::thread([this] {
      last_failure_ = contained([this] {
        run();
        return last_failure_;
      });
    });
  } catch (const std::system_error&) {
    return Status::error(ErrorKind::kIo, "cannot start a thread; raise ulimit -u");
  }
  return {};
}

void OtlpPush::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::string OtlpPush::problem() const {
  if (last_failure_.ok()) return "";
  return "metrics could not be sent to " + without_secrets(settings_.url) + ": " +
         last_failure_.message() + " (" + std::to_string(failures_) + " of " +
         std::to_string(pushes_) + " pushes failed)";
}

void OtlpPush::run() {
  const auto begun = std::chrono::steady_clock::now();
  while (!has_steps() && std::chrono::steady_clock::now() - begun < settings_.interval) {
    if (!wait(kLook)) break;
  }
  while (!stopping_) {
    push(settings_.timeout, stopping_);
    wait(settings_.interval);
  }
  const std::atomic<bool> never = false;
  if (!last_failed_) push(std::min(settings_.timeout, kLastPush), never);
}

void OtlpPush::push(milliseconds timeout, const std::atomic<bool>& stop) {
  HttpPost post{settings_.url, settings_.headers, {}, settings_.certificate, timeout};
  post.headers.emplace_back("Content-Type: application/json");
  post.headers.emplace_back("User-Agent: stepscope/" + version_);
  post.headers.emplace_back("Expect:");  // else curl waits a second before it sends a body
  post.body = otlp_json(*latest_.get(), settings_.resource, version_, {start_unix_ns_, unix_ns()});
  ++pushes_;
  const auto answer = client_->post(post, stop);
  last_failed_ = !answer.ok();
  Status status = answer.ok() ? read_otlp_answer(*answer) : answer.status();
  if (status.ok()) return;
  ++failures_;
  last_failure_ = std::move(status);
}

bool OtlpPush::wait(milliseconds duration) {
  const auto until = std::chrono::steady_clock::now() + duration;
  const MutexLock lock(mutex_);
  while (!stopping_ && changed_.wait_until(mutex_, until)) {
  }
  return !stopping_;
}

bool OtlpPush::has_steps() const {
  const auto metrics = latest_.get();
  return std::any_of(metrics->begin(), metrics->end(), [](const MetricFamily& family) {
    return family.name == "stepscope_steps" && !family.points.empty();
  });
}

}  // namespace stepscope
