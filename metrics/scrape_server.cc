#include "metrics/scrape_server.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "metrics/exposition.h"
#include "store/contained.h"
#include "viewer-export/serve/access.h"

namespace stepscope {
namespace {

// A scraper that reads nothing for this long is gone, and others need its thread.
constexpr std::chrono::seconds kPatience{5};
constexpr int kThreads = 2;
constexpr std::size_t kMaxWaiting = 64;

// The name in the header Host, without its port: "[::1]" for "[::1]:9478".
std::string name_in(const std::string& host) {
  const std::size_t end = host.starts_with('[') ? host.find(']') + 1 : host.find(':');
  return host.substr(0, end);
}

bool host_names_the_loopback(const std::string& host, const ListenAddress& at) {
  const std::string name = name_in(host);
  return host_is_allowed(host) || name == at.host || name == "[" + at.host + "]";
}

}  // namespace

Answer answer_scrape(const Request& request, const ListenAddress& at, const Metrics& metrics) {
  if (at.is_loopback() && !host_names_the_loopback(request.host, at))
    return refusal(403, "The Host of the request does not name this machine.");
  if (!request.origin.empty()) return refusal(403, "Web pages may not read this.");
  if (request.method != "GET" && request.method != "HEAD")
    return refusal(405, "Only GET and HEAD are allowed.");
  if (request.path != "/metrics") return refusal(404, "The metrics are at /metrics.");
  const Dialect dialect = dialect_for(request.accept);
  Answer answer;
  answer.fields = {{"Content-Type", content_type(dialect)},
                   {"Cache-Control", "no-store"},
                   {"X-Content-Type-Options", "nosniff"}};
  answer.body = expose(metrics, dialect);
  return answer;
}

Result<std::unique_ptr<ScrapeServer>> ScrapeServer::listen(const ListenAddress& at,
                                                           const LatestMetrics& latest) {
  ListenAddress bound = at;
  auto listener = listen_on(bound.host, bound.port);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<ScrapeServer>(new ScrapeServer(bound, *std::move(listener), latest));
}

ScrapeServer::ScrapeServer(ListenAddress at, Socket listener, const LatestMetrics& latest)
    : at_(std::move(at)),
      latest_(latest),
      reception_(std::move(listener), {}, [this](Socket socket, const std::string& head) {
        arrived(std::move(socket), head);
      }) {}

Status ScrapeServer::start() {
  try {
    threads_.emplace_back(
        [this] { static_cast<void>(contained([this] { return reception_.run(); })); });
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { answer_requests(); });
  } catch (const std::system_error&) {
    return Status::error(ErrorKind::kIo, "cannot start threads; raise ulimit -u");
  }
  return {};
}

ScrapeServer::~ScrapeServer() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  reception_.stop();
  for (std::thread& thread : threads_) thread.join();
}

void ScrapeServer::arrived(Socket socket, const std::string& head) {
  auto request = read_head(head);
  if (!request) {
    const Answer refused = refusal(400, "This is not an HTTP/1.1 request.");
    return send_and_close(std::move(socket), head_of(refused) + refused.body);
  }
  const MutexLock lock(mutex_);
  if (queue_.size() >= kMaxWaiting) queue_.pop_front();  // its scraper sees a closed connection
  queue_.push_back({std::move(socket), *std::move(request)});
  changed_.notify_one();
}

void ScrapeServer::answer_requests() {
  while (true) {
    Waiting waiting;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && queue_.empty()) changed_.wait(mutex_);
      if (stopping_) return;
      waiting = std::move(queue_.front());
      queue_.pop_front();
    }
    static_cast<void>(contained([&] {
      answer(waiting);
      return Status();
    }));
    close_politely(std::move(waiting.socket));
  }
}

void ScrapeServer::answer(const Waiting& waiting) {
  const Answer answer = answer_scrape(waiting.request, at_, *latest_.get());
  std::string text = head_of(answer);
  if (waiting.request.method != "HEAD") text += answer.body;
  static_cast<void>(send_all(waiting.socket, text, kPatience, stopping_));
}

}  // namespace stepscope
