#include "metrics/otlp_settings.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace stepscope {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                         hex_digit(text[i + 2]) >= 0;
    decoded +=
        escaped ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (escaped) i += 2;
  }
  return decoded;
}

// "key1=value1,key2=value2", as in W3C Baggage.
Labels read_pairs(const std::string& list) {
  Labels pairs;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(trimmed(pair.substr(0, equals)));
    if (!name.empty()) pairs.emplace_back(name, percent_decoded(trimmed(pair.substr(equals + 1))));
  }
  return pairs;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// A line end would begin another header.
std::vector<std::string> header_lines(const Labels& pairs) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : pairs) {
    std::string line = name + ": " + value;
    if (std::none_of(line.begin(), line.end(), is_control)) lines.push_back(std::move(line));
  }
  return lines;
}

std::chrono::milliseconds milliseconds_in(const std::string& text,
                                          std::chrono::milliseconds otherwise) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  constexpr std::int64_t kDayMs = 24LL * 3600 * 1000;
  return whole && number > 0 ? std::chrono::milliseconds(std::min(number, kDayMs)) : otherwise;
}

Labels resource_of(const Variables& variable) {
  Labels resource = read_pairs(variable("OTEL_RESOURCE_ATTRIBUTES"));
  const std::string name = variable("OTEL_SERVICE_NAME");
  const auto named = std::find_if(resource.begin(), resource.end(),
                                  [](const auto& pair) { return pair.first == "service.name"; });
  if (named == resource.end()) {
    resource.emplace_back("service.name", name.empty() ? "stepscope" : name);
  } else if (!name.empty()) {
    named->second = name;
  }
  return resource;
}

}  // namespace

Result<std::optional<OtlpSettings>> otlp_settings(const Variables& variable) {
  // The variable for metrics takes precedence over the general one.
  const auto specific = [&](const std::string& name) {
    std::string value = variable(("OTEL_EXPORTER_OTLP_METRICS_" + name).c_str());
    return value.empty() ? variable(("OTEL_EXPORTER_OTLP_" + name).c_str()) : value;
  };
  OtlpSettings settings;
  settings.url = variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
  if (settings.url.empty()) {
    settings.url = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (settings.url.empty()) return std::optional<OtlpSettings>();
    settings.url += settings.url.ends_with('/') ? "v1/metrics" : "/v1/metrics";
  }
  const std::string exporter = variable("OTEL_METRICS_EXPORTER");
  const bool other = !exporter.empty() && exporter.find("otlp") == std::string::npos;
  if (other || variable("OTEL_SDK_DISABLED") == "true") return std::optional<OtlpSettings>();
  if (specific("PROTOCOL") == "grpc") {
    return Status::error(
        ErrorKind::kUsage,
        "OTLP is sent over HTTP only; set OTEL_EXPORTER_OTLP_METRICS_PROTOCOL to "
        "http/json and OTEL_EXPORTER_OTLP_METRICS_ENDPOINT to the collector's HTTP "
        "port, usually http://HOST:4318/v1/metrics");
  }
  if (!settings.url.starts_with("http://") && !settings.url.starts_with("https://")) {
    return Status::error(ErrorKind::kUsage, "the OTLP endpoint " + without_secrets(settings.url) +
                                                " does not begin with http:// or https://");
  }
  settings.headers = header_lines(read_pairs(specific("HEADERS")));
  settings.certificate = specific("CERTIFICATE");
  settings.resource = resource_of(variable);
  settings.interval = milliseconds_in(variable("OTEL_METRIC_EXPORT_INTERVAL"), settings.interval);
  settings.timeout = milliseconds_in(specific("TIMEOUT"), settings.timeout);
  return std::optional<OtlpSettings>(std::move(settings));
}

std::string without_secrets(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::string_view authority = url.substr(begin, url.find('/', begin) - begin);
  const std::size_t at = authority.rfind('@');
  const std::size_t user = at == std::string_view::npos ? 0 : at + 1;
  return std::string(url.substr(0, begin)) + std::string(url.substr(begin + user));
}

}  // namespace stepscope
