#include "viewer-export/serve/site.h"

#include <exception>

#include "viewer-export/serve/access.h"
#include "viewer-export/serve/timeline_page.h"
#include "viewer-export/serve/ui_files.h"

namespace stepscope {
namespace {

constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kText[] = "text/plain; charset=utf-8";

// What each kind of answer may do in the browser.
constexpr char kNothing[] = "default-src 'none'; frame-ancestors 'none'";
// The report's own policy is in the page, with the hashes of its scripts.
constexpr char kReportPolicy[] = "frame-ancestors 'none'";
constexpr char kTimelinePolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// The Perfetto UI compiles WebAssembly and makes styles and workers; it can reach only this server.
constexpr char kUiPolicy[] =
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'none'";

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 302:
      return "Found";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

// An answer without content yet, with headers that keep it from doing harm in a browser.
Answer hardened(int status, const char* policy) {
  Answer answer;
  answer.status = status;
  answer.fields = {{"Content-Security-Policy", policy},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Cache-Control", "no-store"},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cross-Origin-Resource-Policy", "same-origin"}};
  return answer;
}

Answer page(std::string body, const char* type, const char* policy) {
  Answer answer = hardened(200, policy);
  answer.fields.emplace_back("Content-Type", type);
  answer.body = std::move(body);
  return answer;
}

Answer page(const Result<std::string>& body, const char* type, const char* policy) {
  return body.ok() ? page(*body, type, policy) : refusal(500, body.status().message());
}

}  // namespace

std::string head_of(const Answer& answer) {
  std::string head =
      "HTTP/1.1 " + std::to_string(answer.status) + " " + reason_of(answer.status) + "\r\n";
  for (const auto& [name, value] : answer.fields)
    head.append(name).append(": ").append(value).append("\r\n");
  head += answer.stream ? std::string("Transfer-Encoding: chunked")
                        : "Content-Length: " + std::to_string(answer.body.size());
  return head + "\r\nConnection: close\r\n\r\n";
}

Answer refusal(int status, std::string_view why) {
  Answer answer = page(std::string(why) + "\n", kText, kNothing);
  answer.status = status;
  return answer;
}

Site::Site(RunServer::Content content, std::string token)
    : content_(std::move(content)), token_(std::move(token)) {}

std::optional<Answer> Site::refuse(const Request& request) const {
  if (!host_is_allowed(request.host)) return refusal(403, "This address serves 127.0.0.1 only.");
  if (!origin_is_allowed(request.origin, request.host))
    return refusal(403, "Pages from other addresses may not use this one.");
  if (!path_behind_token(request.path, token_)) {
    return refusal(403, "The address lacks its token: open the one that stepscope view printed.");
  }
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  Answer answer = refusal(405, "This server is read-only.");
  answer.fields.emplace_back("Allow", "GET, HEAD");
  return answer;
}

Answer Site::answer(const Request& request) const {
  const auto path = path_behind_token(request.path, token_);
  try {
    return path ? answer_path(*path, request) : refusal(403, "The address lacks its token.");
  } catch (const std::exception&) {
    return refusal(500,
                   "The response could not be generated: out of memory, or an internal error.");
  }
}

Answer Site::answer_path(std::string_view path, const Request& request) const {
  constexpr std::string_view kUiPath = "ui/";
  if (path.empty()) return page(content_.report(), kHtml, kReportPolicy);
  if (path == "timeline") return timeline(request);
  if (path == "timeline.js")
    return page(timeline_script(content_.ui_address, content_.title), "text/javascript", kNothing);
  if (path == "timeline.css") return page(std::string(kTimelineStyle), "text/css", kNothing);
  if (path == "trace.json.gz") return trace();
  if (path == "live.json" && content_.live)
    return page(content_.live(), "application/json", kNothing);
  if (path.starts_with(kUiPath)) return ui_file(path.substr(kUiPath.size()));
  return refusal(404, "There is no such page.");
}

Answer Site::trace() const {
  Answer answer = hardened(200, kNothing);
  answer.fields.emplace_back("Content-Type", "application/gzip");
  answer.stream = content_.trace;
  return answer;
}

Answer Site::timeline(const Request& request) const {
  if (content_.ui_folder.empty()) return page(std::string(kTimelinePage), kHtml, kTimelinePolicy);
  const std::string base = "/" + token_ + "/";
  const std::string trace = "http://" + request.host + base + "trace.json.gz";
  Answer answer = hardened(302, kNothing);
  answer.fields.emplace_back("Location", base + "ui/index.html#!/?url=" + percent_encoded(trace));
  return answer;
}

Answer Site::ui_file(std::string_view path) const {
  auto file = read_ui_file(content_.ui_folder, path);
  if (!file) return refusal(404, "The Perfetto UI has no such file.");
  return page(std::move(file->text), file->type, kUiPolicy);
}

}  // namespace stepscope
