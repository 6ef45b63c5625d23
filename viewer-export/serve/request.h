// The head of an HTTP request: what a browser asks for. The body, if there is one, is never read.
//
// The reading is strict: what RFC 9112 lets a server refuse is refused, since the only clients that
// matter are browsers, and they are strict themselves.
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
  std::string path;    // decoded, without the query; begins with '/', holds no control characters
  std::string host;    // "" where it is empty
  std::string origin;  // "" without one
};

// How many bytes the head takes, its empty line included; nothing as long as it is not whole.
std::optional<std::size_t> end_of_head(std::string_view bytes);

// Nothing for what is no request of HTTP/1.1, or has not exactly one Host, or several Origins.
// `head` ends where end_of_head() says.
std::optional<Request> read_head(std::string_view head);

}  // namespace stepscope
