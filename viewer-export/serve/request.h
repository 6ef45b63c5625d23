// The head of an HTTP request: what a browser asks for. The body, if there is one, is never read.
//
// Parsing is strict: everything that RFC 9112 lets a server refuse is refused, since the only
// relevant clients are browsers, which are strict themselves.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

// Browsers send less than 2 kB.
inline constexpr std::size_t kLargestHead = std::size_t{16} << 10;

struct Request {
  std::string method;
  std::string path;      // decoded, without the query; begins with '/', holds no control characters
  std::string host;      // "" if it is empty
  std::string origin;    // "" without one
  std::string accept{};  // "" without one
};

// The size of the head in bytes, including its empty line; nothing while it is incomplete.
std::optional<std::size_t> end_of_head(std::string_view bytes);

// Nothing unless it is an HTTP/1.1 request with exactly one Host and at most one Origin.
// `head` ends where end_of_head() says.
std::optional<Request> read_head(std::string_view head);

}  // namespace stepscope
