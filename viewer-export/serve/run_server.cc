#include "viewer-export/serve/run_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "store/contained.h"
#include "store/mutex.h"
#include "viewer-export/serve/access.h"
#include "viewer-export/serve/reception.h"
#include "viewer-export/serve/request.h"
#include "viewer-export/serve/site.h"
#include "viewer-export/serve/socket.h"
#include "viewer-export/serve/ui_files.h"

namespace stepscope {
namespace {

constexpr std::size_t kThreads = 16;
// Requests that wait for a thread; a browser sends six at a time.
constexpr std::size_t kMaxRequests = 256;
// A browser that reads nothing for this long is gone.
constexpr std::chrono::minutes kPatience{5};

// Sends a trace to the browser, which reads it as fast as it can draw it. Uses the chunks of RFC
// 9112, so that the browser can detect an incomplete trace. The head comes with the first byte:
// until then, the answer may still be an error.
class ChunkSink final : public ByteSink {
 public:
  ChunkSink(const Socket& socket, const std::atomic<bool>& stopping, std::string head)
      : socket_(socket), stopping_(stopping), head_(std::move(head)) {}

  [[nodiscard]] bool has_begun() const { return head_.empty(); }

  Status write(std::string_view bytes) override {
    if (bytes.empty()) return {};  // would be the last chunk
    const std::string before = std::exchange(head_, {}) + fmt::format("{:x}\r\n", bytes.size());
    if (Status status = send(before); !status.ok()) return status;
    if (Status status = send(bytes); !status.ok()) return status;
    return send("\r\n");
  }
  // The exporter calls this, and does not know about chunks.
  Status finish() override { return {}; }
  Status write_last_chunk() { return send(std::exchange(head_, {}) + "0\r\n\r\n"); }

 private:
  Status send(std::string_view bytes) { return send_all(socket_, bytes, kPatience, stopping_); }

  const Socket& socket_;
  const std::atomic<bool>& stopping_;
  std::string head_;  // empty: sent
};

// The authorised requests, in the order of their arrival.
//
// Thread safety: all methods may be called from several threads.
class RequestQueue {
 public:
  struct Entry {
    Socket socket;
    Request request;
  };

  // Returns false if the queue is full; `entry` then stays as it is.
  bool push(Entry& entry) {
    const MutexLock lock(mutex_);
    if (entries_.size() >= kMaxRequests) return false;
    entries_.push_back(std::move(entry));
    changed_.notify_one();
    return true;
  }
  // Waits for one; nothing after close().
  std::optional<Entry> pop() {
    const MutexLock lock(mutex_);
    while (!closed_ && entries_.empty()) changed_.wait(mutex_);
    if (closed_) return std::nullopt;
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    return entry;
  }
  void close() {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Entry> entries_ STEPSCOPE_GUARDED_BY(mutex_);
  bool closed_ STEPSCOPE_GUARDED_BY(mutex_) = false;
};

// One thread receives requests and refuses the unauthorised ones; only authorised requests occupy
// one of the threads that answer.
class LoopbackServer final : public RunServer {
 public:
  LoopbackServer(Content content, const std::string& token, Socket listener, int port)
      : site_(std::move(content), token),
        address_("http://127.0.0.1:" + std::to_string(port) + "/" + token + "/"),
        reception_(std::move(listener), {}, [this](Socket socket, const std::string& head) {
          arrived(std::move(socket), head);
        }) {}
  ~LoopbackServer() override { stop(); }

  Status start_threads();
  [[nodiscard]] const std::string& address() const override { return address_; }
  void stop() override;

 private:
  void arrived(Socket socket, const std::string& head);
  void answer_requests();
  void answer(const RequestQueue::Entry& entry);

  const Site site_;
  const std::string address_;
  std::atomic<bool> stopping_ = false;
  RequestQueue queue_;
  Reception reception_;
  std::vector<std::thread> threads_;  // stop() ends them before what they use is destroyed
};

void refuse(Socket socket, const Answer& answer, bool with_body) {
  send_and_close(std::move(socket), head_of(answer) + (with_body ? answer.body : ""));
}

Status LoopbackServer::start_threads() {
  try {
    threads_.emplace_back([this] { static_cast<void>(reception_.run()); });
    for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { answer_requests(); });
  } catch (const std::system_error&) {
    if (threads_.size() < 2)
      return Status::error(ErrorKind::kIo, "cannot start threads; raise ulimit -u");
  }
  return {};
}

void LoopbackServer::stop() {
  stopping_ = true;
  queue_.close();
  reception_.stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void LoopbackServer::arrived(Socket socket, const std::string& head) {
  auto request = read_head(head);
  if (!request)
    return refuse(std::move(socket), refusal(400, "This is not an HTTP/1.1 request."), true);
  const bool with_body = request->method != "HEAD";
  if (const auto refused = site_.refuse(*request))
    return refuse(std::move(socket), *refused, with_body);
  RequestQueue::Entry entry{std::move(socket), *std::move(request)};
  if (!queue_.push(entry)) {
    refuse(std::move(entry.socket), refusal(503, "Too many requests are waiting."), with_body);
  }
}

void LoopbackServer::answer_requests() {
  while (auto entry = queue_.pop()) {
    answer(*entry);
    close_politely(std::move(entry->socket));
  }
}

Status stream(const Answer& answer, ByteSink& sink) {
  try {
    return answer.stream(sink);
  } catch (const std::exception& error) {
    return Status::error(ErrorKind::kIo, std::string("the trace cannot be made: ") + error.what());
  }
}

void LoopbackServer::answer(const RequestQueue::Entry& entry) {
  const Answer answer = site_.answer(entry.request);
  const auto send = [&](std::string_view bytes) {
    return send_all(entry.socket, bytes, kPatience, stopping_).ok();
  };
  if (!answer.stream || entry.request.method == "HEAD") {
    if (send(head_of(answer)) && entry.request.method != "HEAD") send(answer.body);
    return;
  }
  ChunkSink to_browser(entry.socket, stopping_, head_of(answer));
  const Status status = stream(answer, to_browser);
  if (status.ok()) {
    static_cast<void>(to_browser.write_last_chunk());
  } else if (!to_browser.has_begun()) {
    const Answer failed = refusal(500, status.message());
    send(head_of(failed) + failed.body);
  }  // else the browser knows by the missing last chunk that the trace is incomplete
}

}  // namespace

Result<std::unique_ptr<RunServer>> RunServer::start(Content content, int port) {
  content.ui_address = origin_of(content.ui_address);
  if (content.ui_address.empty()) {
    return Status::error(ErrorKind::kUsage,
                         "the address of a Perfetto UI is http:// or https:// and the name of a "
                         "host, without spaces, for example https://ui.perfetto.dev");
  }
  const auto token = make_token();
  if (!token) return Status::error(ErrorKind::kIo, "the system provides no random numbers");
  auto listener = listen_on_loopback(port);
  if (!listener.ok()) return listener.status();
  auto server =
      std::make_unique<LoopbackServer>(std::move(content), *token, *std::move(listener), port);
  if (Status status = server->start_threads(); !status.ok()) return status;
  return std::unique_ptr<RunServer>(std::move(server));
}

bool RunServer::stop_within(std::chrono::seconds patience) {
  std::promise<void> stopped;
  const std::future<void> wait = stopped.get_future();
  std::thread stopping([this, stopped = std::move(stopped)]() mutable {
    static_cast<void>(contained([this] {
      stop();
      return Status();
    }));
    stopped.set_value();
  });
  const bool in_time = wait.wait_for(patience) == std::future_status::ready;
  in_time ? stopping.join() : stopping.detach();
  return in_time;
}

}  // namespace stepscope
