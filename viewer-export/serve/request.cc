#include "viewer-export/serve/request.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace stepscope {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Whether the text is a "token" of RFC 9110, as methods and names of fields are.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kMarks.find(c) != kMarks.npos;
  });
}

// Removes the part up to `separator`, and the separator, and returns the part; nothing without one.
std::optional<std::string_view> cut_at(std::string_view& text, std::string_view separator) {
  const std::size_t end = text.find(separator);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end + separator.size());
  return part;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (is_control(c)) return std::nullopt;
    decoded += c;
  }
  return decoded;
}

bool read_request_line(std::string_view line, Request& request) {
  const auto method = cut_at(line, " "), target = cut_at(line, " ");
  if (!method || !target || line != "HTTP/1.1") return false;
  if (!is_token(*method) || !target->starts_with('/')) return false;
  auto path = percent_decoded(target->substr(0, target->find('?')));
  if (!path) return false;
  request.method = *method;
  request.path = *std::move(path);
  return true;
}

bool same_name(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == y;
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

struct Fields {
  std::optional<std::string> host, origin;
  std::string accept;  // a list, which may come in several fields
};

// If a field that matters came twice, it would be unclear which of them is meant.
bool keep_once(std::optional<std::string>& kept, std::string_view value) {
  if (kept) return false;
  kept = value;
  return true;
}

// A line that begins with a blank would continue the one before; it has no name, and is refused.
bool read_field(std::string_view line, Fields& fields) {
  const auto name = cut_at(line, ":");
  if (!name || !is_token(*name)) return false;
  const std::string_view value = trimmed(line);
  if (std::any_of(value.begin(), value.end(), [](char c) { return is_control(c) && c != '\t'; }))
    return false;
  if (same_name(*name, "host")) return keep_once(fields.host, value);
  if (same_name(*name, "origin")) return keep_once(fields.origin, value);
  if (same_name(*name, "accept"))
    fields.accept.append(fields.accept.empty() ? "" : ",").append(value);
  return true;
}

}  // namespace

std::optional<std::size_t> end_of_head(std::string_view bytes) {
  const std::size_t end = bytes.find(kHeadEnd);
  if (end == std::string_view::npos) return std::nullopt;
  return end + kHeadEnd.size();
}

std::optional<Request> read_head(std::string_view head) {
  Request request;
  Fields fields;
  const auto first = cut_at(head, kLineEnd);
  if (!first || !read_request_line(*first, request)) return std::nullopt;
  while (true) {
    const auto line = cut_at(head, kLineEnd);
    if (!line) return std::nullopt;
    if (line->empty()) break;
    if (!read_field(*line, fields)) return std::nullopt;
  }
  if (!fields.host) return std::nullopt;
  request.host = *std::move(fields.host);
  request.origin = std::move(fields.origin).value_or("");
  request.accept = std::move(fields.accept);
  return request;
}

}  // namespace stepscope
