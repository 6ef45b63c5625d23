// RunServer with cpp-httplib; the one file that sees its header.
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "viewer-export/serve/access.h"
#include "viewer-export/serve/run_server.h"
#include "viewer-export/serve/timeline_page.h"
#include "viewer-export/serve/ui_files.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;
using httplib::Request;
using httplib::Response;

constexpr std::size_t kThreads = 8;
constexpr int kTimeoutSeconds = 1;

constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kText[] = "text/plain; charset=utf-8";

// What each kind of answer may do in the browser.
constexpr char kNothing[] = "default-src 'none'; frame-ancestors 'none'";
// The report's own policy is in the page, with the hashes of its scripts.
constexpr char kReportPolicy[] = "frame-ancestors 'none'";
constexpr char kTimelinePolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// The Perfetto UI compiles WebAssembly and makes styles and workers; it reaches this server alone.
constexpr char kUiPolicy[] =
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'none'";

void harden(Response& response, const char* policy) {
  response.set_header("Content-Security-Policy", policy);
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Cache-Control", "no-store");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cross-Origin-Resource-Policy", "same-origin");
}

// As a provider of so many bytes: httplib would compress a body anew for each request, with the
// slowest of settings.
void send(Response& response, std::string body, const char* type, const char* policy) {
  harden(response, policy);
  if (body.empty()) return response.set_content("", type);
  const auto held = std::make_shared<const std::string>(std::move(body));
  response.set_content_provider(
      held->size(), type, [held](std::size_t from, std::size_t size, httplib::DataSink& sink) {
        return sink.write(held->data() + from, size);
      });
}

void refuse(Response& response, int status, const std::string& why) {
  send(response, why + "\n", kText, kNothing);
  response.status = status;
  response.set_header("Connection", "close");
}

// The way of a trace to the browser, which takes it as fast as it can draw it.
class BrowserSink final : public ByteSink {
 public:
  BrowserSink(httplib::DataSink& sink, const std::atomic<bool>& stopping)
      : sink_(sink), stopping_(stopping) {}

  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kPiece);
      if (!wait_for_room() || !sink_.write(piece.data(), piece.size())) {
        return Status::error(ErrorKind::kIo, "the browser takes no more of the trace");
      }
      bytes.remove_prefix(piece.size());
    }
    return {};
  }
  Status finish() override { return {}; }

 private:
  // So little that a socket that is writable has room for all of it.
  static constexpr std::size_t kPiece = std::size_t{16} << 10;

  bool wait_for_room() {
    while (!stopping_) {
      const auto asked = Clock::now();
      if (sink_.is_writable()) return true;
      // It takes its time to say that there is no room; that the browser has gone, it says at once.
      if (Clock::now() - asked < std::chrono::seconds(kTimeoutSeconds) / 2) return false;
    }
    return false;
  }

  httplib::DataSink& sink_;
  const std::atomic<bool>& stopping_;
};

class HttpServer final : public RunServer {
 public:
  HttpServer(Content content, std::string token)
      : content_(std::move(content)), token_(std::move(token)) {}
  ~HttpServer() override { stop(); }

  Status listen(int port);
  [[nodiscard]] const std::string& address() const override { return address_; }
  void stop() override;

 private:
  void configure();
  void answer(const Request& request, Response& response);
  void answer_path(std::string_view path, const Request& request, Response& response);
  void send_trace(Response& response);
  void send_timeline(const Request& request, Response& response);
  void send_ui_file(std::string_view path, Response& response);
  static void send_result(Response& response, const Result<std::string>& body, const char* type,
                          const char* policy);

  const Content content_;
  const std::string token_;
  std::string address_;
  std::atomic<bool> stopping_ = false;
  httplib::Server server_;
  std::thread listener_;  // ends before what its threads use is gone: stop()
};

void HttpServer::configure() {
  server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server_.set_keep_alive_timeout(kTimeoutSeconds);
  server_.set_read_timeout(kTimeoutSeconds);
  server_.set_write_timeout(kTimeoutSeconds);
  server_.set_payload_max_length(0);
  // By default a second program of this user might listen on the same port.
  server_.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server_.set_pre_routing_handler([this](const Request& request, Response& response) {
    answer(request, response);
    return httplib::Server::HandlerResponse::Handled;
  });
  server_.set_exception_handler([](const Request&, Response& response, std::exception_ptr) {
    refuse(response, 500,
           "The answer could not be made: out of memory, or an error of this program.");
  });
}

Status HttpServer::listen(int port) {
  configure();
  if (port == 0) {
    port = server_.bind_to_any_port("127.0.0.1");
  } else if (!server_.bind_to_port("127.0.0.1", port)) {
    return Status::error(ErrorKind::kIo, "port " + std::to_string(port) +
                                             " of 127.0.0.1 is not to be had; choose another, or "
                                             "none for any that is free");
  }
  if (port <= 0) return Status::error(ErrorKind::kIo, "no port of 127.0.0.1 is to be had");
  address_ = "http://127.0.0.1:" + std::to_string(port) + "/" + token_ + "/";
  listener_ = std::thread([this] { server_.listen_after_bind(); });
  while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return {};
}

void HttpServer::stop() {
  stopping_ = true;
  if (!listener_.joinable()) return;
  server_.stop();
  listener_.join();
}

void HttpServer::answer(const Request& request, Response& response) {
  const std::string host = request.get_header_value("Host");
  if (request.get_header_value_count("Host") != 1 || !host_is_allowed(host)) {
    return refuse(response, 403, "This address serves 127.0.0.1 only.");
  }
  if (!origin_is_allowed(request.get_header_value("Origin"), host)) {
    return refuse(response, 403, "This address serves no other pages.");
  }
  const auto path = path_behind_token(request.path, token_);
  if (!path) {
    return refuse(response, 403,
                  "The address lacks its token: open the one that stepscope view has printed.");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    response.set_header("Allow", "GET, HEAD");
    return refuse(response, 405, "There is nothing to change here.");
  }
  answer_path(*path, request, response);
}

void HttpServer::answer_path(std::string_view path, const Request& request, Response& response) {
  constexpr std::string_view kUiPath = "ui/";
  if (path.empty()) return send_result(response, content_.report(), kHtml, kReportPolicy);
  if (path == "timeline") return send_timeline(request, response);
  if (path == "timeline.js")
    return send(response, timeline_script(content_.ui_address, content_.title), "text/javascript",
                kNothing);
  if (path == "timeline.css") return send(response, kTimelineStyle, "text/css", kNothing);
  if (path == "trace.json.gz") return send_trace(response);
  if (path == "live.json" && content_.live)
    return send_result(response, content_.live(), "application/json", kNothing);
  if (path.starts_with(kUiPath)) return send_ui_file(path.substr(kUiPath.size()), response);
  refuse(response, 404, "There is no such page.");
}

void HttpServer::send_result(Response& response, const Result<std::string>& body, const char* type,
                             const char* policy) {
  if (!body.ok()) return refuse(response, 500, body.status().message());
  send(response, *body, type, policy);
}

void HttpServer::send_trace(Response& response) {
  harden(response, kNothing);
  response.set_chunked_content_provider("application/gzip",
                                        [this](std::size_t, httplib::DataSink& sink) {
                                          BrowserSink to_browser(sink, stopping_);
                                          // Without the last chunk, the browser knows that the
                                          // trace is not whole.
                                          if (!content_.trace(to_browser).ok()) return false;
                                          sink.done();
                                          return true;
                                        });
}

void HttpServer::send_timeline(const Request& request, Response& response) {
  if (content_.ui_folder.empty()) return send(response, kTimelinePage, kHtml, kTimelinePolicy);
  harden(response, kNothing);
  const std::string base = "/" + token_ + "/";
  const std::string trace = "http://" + request.get_header_value("Host") + base + "trace.json.gz";
  response.set_redirect(base + "ui/index.html#!/?url=" + percent_encoded(trace));
}

void HttpServer::send_ui_file(std::string_view path, Response& response) {
  auto file = read_ui_file(content_.ui_folder, path);
  if (!file) return refuse(response, 404, "The Perfetto UI has no such file.");
  send(response, std::move(file->text), file->type, kUiPolicy);
}

}  // namespace

bool can_serve_runs() { return true; }

Result<std::unique_ptr<RunServer>> RunServer::start(Content content, int port) {
  content.ui_address = origin_of(content.ui_address);
  if (content.ui_address.empty()) {
    return Status::error(ErrorKind::kUsage,
                         "the address of a Perfetto UI is to be http://… or "
                         "https://…, as https://ui.perfetto.dev");
  }
  auto token = make_token();
  if (!token) return Status::error(ErrorKind::kIo, "the system gives no random numbers");
  auto server = std::make_unique<HttpServer>(std::move(content), *std::move(token));
  if (Status status = server->listen(port); !status.ok()) return status;
  return std::unique_ptr<RunServer>(std::move(server));
}

}  // namespace stepscope
