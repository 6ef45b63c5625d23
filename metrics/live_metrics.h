// The live metrics of a run that is being recorded: reads the store as `stepscope top` does, and
// serves and pushes the result. Runs in the process that records, never in the program.
//
// An error ends the metrics and nothing else.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/live/live_follower.h"
#include "metrics/latest_metrics.h"
#include "metrics/listen_address.h"
#include "metrics/otlp_push.h"
#include "metrics/run_metrics.h"
#include "metrics/scrape_server.h"

namespace stepscope {

struct MetricsPlan {
  std::optional<ListenAddress> listen;
  std::optional<OtlpSettings> otlp;
  RunIdentity identity;
  std::string version;  // Stepscope's
  std::chrono::milliseconds interval{5000};
};

// Thread safety: for one thread. From start() on, it has its own threads.
class LiveMetrics {
 public:
  // Listens, if that is planned. Whatever is not possible becomes a line of `problems`. Returns
  // null if nothing is possible.
  static std::unique_ptr<LiveMetrics> open(const MetricsPlan& plan,
                                           std::vector<std::string>& problems);
  ~LiveMetrics();

  // Where it listens; nothing if it does not.
  [[nodiscard]] std::optional<ListenAddress> address() const;

  // Starts the threads. Call after the program was started, because that is a fork(). Errors: kIo.
  Status start();
  // From now on, the recording is in this store. Only the first call counts.
  void follow(const std::filesystem::path& store) { follower_.follow(store); }
  // Call before the recorder closes the store: a reader would keep it from being folded into one
  // file.
  void stop_reading();
  // Call after the recorder has closed the store. Pushes the totals of the whole run, and returns
  // lines for the user about problems.
  std::vector<std::string> finish();

 private:
  explicit LiveMetrics(const MetricsPlan& plan);
  void read_the_end();

  const MetricsPlan plan_;
  LatestMetrics latest_;
  std::unique_ptr<ScrapeServer> server_;
  std::unique_ptr<OtlpPush> push_;
  // Only the follower's thread uses these until it has ended.
  RunMetrics metrics_;
  Status failure_;
  LiveFollower follower_;  // last: its thread uses the others
};

}  // namespace stepscope
