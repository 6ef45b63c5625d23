#include "viewer-export/serve/access.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace stepscope {
namespace {

constexpr std::size_t kTokenBytes = 16;

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

std::optional<std::string> make_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return std::nullopt;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4U];
    token += kDigits[byte & 15U];
  }
  return token;
}

bool same_token(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  }
  return difference == 0;
}

bool host_is_allowed(std::string_view host) {
  const std::size_t colon = host.find(':');
  const std::string_view name = host.substr(0, colon);
  if (name != "127.0.0.1" && name != "localhost") return false;
  return colon == std::string_view::npos || all_digits(host.substr(colon + 1));
}

bool origin_is_allowed(std::string_view origin, std::string_view host) {
  constexpr std::string_view kScheme = "http://";
  if (origin.empty()) return true;
  return origin.starts_with(kScheme) && origin.substr(kScheme.size()) == host;
}

std::optional<std::string_view> path_behind_token(std::string_view path, std::string_view token) {
  if (!path.starts_with('/')) return std::nullopt;
  path.remove_prefix(1);
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos || !same_token(path.substr(0, slash), token)) {
    return std::nullopt;
  }
  return path.substr(slash + 1);
}

}  // namespace stepscope
