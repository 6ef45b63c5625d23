#include "metrics/http_client.h"

#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <utility>

namespace stepscope {
namespace {

// The interface of libcurl has been compatible since 2006. The second name is Debian's build with
// GnuTLS, which git depends on.
constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
constexpr int kLookMs = 100;  // how often `stop` is checked
constexpr long kConnectMs = 3000;

std::size_t keep(char* data, std::size_t size, std::size_t count, void* to) {
  auto& answer = *static_cast<std::string*>(to);
  answer.append(data, std::min(size * count, HttpClient::kLongestAnswer - answer.size()));
  return size * count;
}

}  // namespace

// The functions of libcurl, with the types of its header.
struct HttpClient::Curl {
  void* library = nullptr;
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_getinfo) get_info = nullptr;
  decltype(&curl_easy_strerror) error_text = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_multi_init) multi_init = nullptr;
  decltype(&curl_multi_add_handle) add = nullptr;
  decltype(&curl_multi_remove_handle) remove = nullptr;
  decltype(&curl_multi_perform) perform = nullptr;
  decltype(&curl_multi_wait) wait = nullptr;
  decltype(&curl_multi_info_read) read_info = nullptr;
  decltype(&curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;

  CURLM* multi = nullptr;  // keeps connections open

  // The library stays loaded: it may have threads that look up names.
  ~Curl() {
    if (multi != nullptr) multi_cleanup(multi);
  }

  template <typename Function>
  bool find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }
  bool find_all() {
    return find(global_init, "curl_global_init") && find(easy_init, "curl_easy_init") &&
           find(set, "curl_easy_setopt") && find(get_info, "curl_easy_getinfo") &&
           find(error_text, "curl_easy_strerror") && find(easy_cleanup, "curl_easy_cleanup") &&
           find(multi_init, "curl_multi_init") && find(add, "curl_multi_add_handle") &&
           find(remove, "curl_multi_remove_handle") && find(perform, "curl_multi_perform") &&
           find(wait, "curl_multi_wait") && find(read_info, "curl_multi_info_read") &&
           find(multi_cleanup, "curl_multi_cleanup") && find(append, "curl_slist_append") &&
           find(free_list, "curl_slist_free_all");
  }

  curl_slist* list_of(const std::vector<std::string>& headers) const {
    curl_slist* list = nullptr;
    for (const std::string& header : headers) list = append(list, header.c_str());
    return list;
  }
  void describe(CURL* easy, const HttpPost& post, curl_slist* headers, std::string& answer) const;
  Status run(CURL* easy, const std::atomic<bool>& stop);
  [[nodiscard]] Status outcome(CURL* easy, CURLcode code) const;
};

void HttpClient::Curl::describe(CURL* easy, const HttpPost& post, curl_slist* headers,
                                std::string& answer) const {
  const long timeout = static_cast<long>(post.timeout.count());
  set(easy, CURLOPT_URL, post.url.c_str());
  set(easy, CURLOPT_HTTPHEADER, headers);
  set(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(post.body.size()));
  set(easy, CURLOPT_POSTFIELDS, post.body.c_str());
  set(easy, CURLOPT_WRITEFUNCTION, &keep);
  set(easy, CURLOPT_WRITEDATA, &answer);
  set(easy, CURLOPT_TIMEOUT_MS, timeout);
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, std::min(timeout, kConnectMs));
  set(easy, CURLOPT_NOSIGNAL, 1L);
  if (!post.certificate.empty()) set(easy, CURLOPT_CAINFO, post.certificate.c_str());
#if LIBCURL_VERSION_NUM >= 0x075700
  // A name server that does not answer must not delay our exit.
  set(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
}

Status HttpClient::Curl::run(CURL* easy, const std::atomic<bool>& stop) {
  int running = 1;
  while (running > 0 && !stop) {
    if (perform(multi, &running) != CURLM_OK) break;
    if (running > 0) wait(multi, nullptr, 0, kLookMs, nullptr);
  }
  if (running > 0) return Status::error(ErrorKind::kIo, "it did not answer before the run ended");
  int left = 0;
  const CURLMsg* message = read_info(multi, &left);
  return outcome(easy, message == nullptr ? CURLE_RECV_ERROR : message->data.result);
}

Status HttpClient::Curl::outcome(CURL* easy, CURLcode code) const {
  if (code != CURLE_OK) return Status::error(ErrorKind::kIo, error_text(code));
  long status = 0;
  get_info(easy, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return {};
  return Status::error(ErrorKind::kIo, "HTTP status " + std::to_string(status));
}

HttpClient::HttpClient(std::unique_ptr<Curl> curl) : curl_(std::move(curl)) {}
HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::load() {
  auto curl = std::make_unique<Curl>();
  for (const char* name : kNames) {
    if (curl->library == nullptr) curl->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  const bool usable = curl->library != nullptr && curl->find_all() &&
                      curl->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK &&
                      (curl->multi = curl->multi_init()) != nullptr;
  if (!usable) {
    return Status::error(ErrorKind::kUnavailable,
                         "no usable libcurl.so.4 was found; install it (Debian: libcurl4)");
  }
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(curl)));
}

Result<std::string> HttpClient::post(const HttpPost& post, const std::atomic<bool>& stop) {
  CURL* easy = curl_->easy_init();
  if (easy == nullptr) return Status::error(ErrorKind::kIo, "out of memory");
  curl_slist* headers = curl_->list_of(post.headers);
  std::string answer;
  answer.reserve(kLongestAnswer);  // keep() must not throw through libcurl
  curl_->describe(easy, post, headers, answer);
  curl_->add(curl_->multi, easy);
  Status status = curl_->run(easy, stop);
  curl_->remove(curl_->multi, easy);
  curl_->easy_cleanup(easy);
  curl_->free_list(headers);
  if (!status.ok()) return status;
  return answer;
}

}  // namespace stepscope
