// HTTP requests by libcurl, which is loaded at run time, so that only users who push metrics need
// it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope {

struct HttpPost {
  std::string url;
  std::vector<std::string> headers;  // "name: value"
  std::string body;
  std::string certificate;  // a file of trusted certificates; "": those of the system
  std::chrono::milliseconds timeout{10'000};
};

// Thread safety: one thread at a time.
class HttpClient {
 public:
  // Errors: kUnavailable, there is no libcurl.
  static Result<std::unique_ptr<HttpClient>> load();
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Follows no redirection. Returns the first kLongestAnswer bytes of the answer's content, soon
  // after `stop` is set. Errors: kIo, there was no answer, or it does not report success.
  Result<std::string> post(const HttpPost& post, const std::atomic<bool>& stop);
  static constexpr std::size_t kLongestAnswer = 65536;

 private:
  struct Curl;
  explicit HttpClient(std::unique_ptr<Curl> curl);
  std::unique_ptr<Curl> curl_;
};

}  // namespace stepscope
