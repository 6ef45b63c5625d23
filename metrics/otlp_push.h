// Pushes the latest metrics to an OpenTelemetry collector, from a separate thread.
//
// If a collector is unreachable, slow or broken, only the metrics of that time are lost: the next
// push has the totals again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "metrics/http_client.h"
#include "metrics/latest_metrics.h"
#include "metrics/otlp_settings.h"
#include "store/mutex.h"

namespace stepscope {

// Thread safety: for one thread. It has its own thread for the pushes.
class OtlpPush {
 public:
  // `latest` must outlive it. Errors: kUnavailable, there is no libcurl.
  static Result<std::unique_ptr<OtlpPush>> prepare(OtlpSettings settings, std::string version,
                                                   const LatestMetrics& latest);
  ~OtlpPush() { stop(); }

  // Errors: kIo (no thread).
  Status start();
  // Pushes a last time, unless the push before failed. Takes at most a second if the collector no
  // longer answers.
  void stop();
  // Call after stop(). One line that says what went wrong; "" if nothing did.
  [[nodiscard]] std::string problem() const;

 private:
  OtlpPush(OtlpSettings settings, std::string version, const LatestMetrics& latest,
           std::unique_ptr<HttpClient> client);
  void run();
  void push(std::chrono::milliseconds timeout, const std::atomic<bool>& stop);
  // Returns false if it is time to stop.
  bool wait(std::chrono::milliseconds duration);
  [[nodiscard]] bool has_steps() const;

  const OtlpSettings settings_;
  const std::string version_;
  const LatestMetrics& latest_;
  const std::int64_t start_unix_ns_;
  std::unique_ptr<HttpClient> client_;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  ConditionVariable changed_;
  // Only the thread uses these until it has ended.
  std::int64_t pushes_ = 0;
  std::int64_t failures_ = 0;
  Status last_failure_;
  bool last_failed_ = false;
  std::thread thread_;
};

}  // namespace stepscope
