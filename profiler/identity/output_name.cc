#include "profiler/identity/output_name.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace stepscope {
namespace {

constexpr std::size_t kLongestValue = 128;  // bytes

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

// The name of a job comes from outside and must not lead to another folder.
std::string path_part(std::string value) {
  value.resize(std::min(value.size(), kLongestValue));
  std::replace_if(value.begin(), value.end(), [](char c) { return !is_plain(c); }, '_');
  if (value.starts_with('.')) value[0] = '_';
  return value;
}

const std::string* value_of(const OutputNames& names, std::string_view placeholder) {
  const std::pair<std::string_view, const std::string*> values[] = {{"job", &names.job},
                                                                    {"host", &names.host},
                                                                    {"rank", &names.rank},
                                                                    {"node", &names.node},
                                                                    {"run", &names.run}};
  const auto* const found =
      std::find_if(std::begin(values), std::end(values),
                   [&](const auto& value) { return value.first == placeholder; });
  return found == std::end(values) ? nullptr : found->second;
}

Status unknown(std::string_view text, std::string_view what) {
  return Status::error(ErrorKind::kUsage,
                       "-o " + std::string(text) + ": " + std::string(what) +
                           " is not a placeholder; use {job}, {host}, {rank}, {node} or {run}, and "
                           "{{ for a brace");
}

}  // namespace

Result<std::string> expand_output(std::string_view text, const OutputNames& names) {
  std::string expanded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '{' && c != '}') {
      expanded += c;
      continue;
    }
    if (at + 1 < text.size() && text[at + 1] == c) {
      expanded += c;
      ++at;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (c == '}' || end == std::string_view::npos) return unknown(text, text.substr(at));
    const std::string* value = value_of(names, text.substr(at + 1, end - at - 1));
    if (value == nullptr) return unknown(text, text.substr(at, end - at + 1));
    expanded += path_part(*value);
    at = end;
  }
  return expanded;
}

}  // namespace stepscope
