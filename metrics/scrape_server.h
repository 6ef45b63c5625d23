// Serves metrics over HTTP to scrapers: GET /metrics, nothing else.
//
// Anyone who can connect may read the metrics; docs/security.md says what they reveal. Web pages
// may not: a request with an Origin is refused, and on the loopback the Host must name the
// loopback, so that a web page gains nothing from a name that resolves to it. One thread receives
// requests, so that slow clients do not block others.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "metrics/latest_metrics.h"
#include "metrics/listen_address.h"
#include "store/mutex.h"
#include "viewer-export/serve/reception.h"
#include "viewer-export/serve/request.h"
#include "viewer-export/serve/site.h"
#include "viewer-export/serve/socket.h"

namespace stepscope {

// The answer to a request.
Answer answer_scrape(const Request& request, const ListenAddress& at, const Metrics& metrics);

// Thread safety: for one thread. It has its own threads.
class ScrapeServer {
 public:
  // Listens, but has no threads yet: scrapers that connect wait. `latest` must outlive it. Errors:
  // kIo (the port is in use, or the machine does not have the address).
  static Result<std::unique_ptr<ScrapeServer>> listen(const ListenAddress& at,
                                                      const LatestMetrics& latest);
  ~ScrapeServer();

  // Errors: kIo (no threads).
  Status start();
  // Contains the port that was chosen.
  [[nodiscard]] const ListenAddress& address() const { return at_; }

 private:
  struct Waiting {
    Socket socket;
    Request request;
  };

  ScrapeServer(ListenAddress at, Socket listener, const LatestMetrics& latest);
  void arrived(Socket socket, const std::string& head);
  void answer_requests();
  void answer(const Waiting& waiting);

  const ListenAddress at_;
  const LatestMetrics& latest_;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Waiting> queue_ STEPSCOPE_GUARDED_BY(mutex_);
  Reception reception_;
  std::vector<std::thread> threads_;
};

}  // namespace stepscope
