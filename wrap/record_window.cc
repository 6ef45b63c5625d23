#include "wrap/record_window.h"

#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

namespace stepscope {
namespace {

Status bad_schedule(const std::string& text, const std::string& why) {
  return Status::error(ErrorKind::kUsage, "--schedule " + text + ": " + why +
                                              "; write wait=100,warmup=5,active=10,repeat=3");
}

}  // namespace

Status read_schedule(const std::string& text, RecordPlan& plan) {
  if (text.empty()) return {};
  const std::map<std::string, std::int64_t*> fields{{"wait", &plan.wait},
                                                    {"warmup", &plan.warmup},
                                                    {"active", &plan.active},
                                                    {"repeat", &plan.repeat}};
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const auto field = fields.find(part.substr(0, equals));
    if (field == fields.end() || equals == std::string::npos) {
      return bad_schedule(text, "'" + part + "' is not one of wait, warmup, active, repeat");
    }
    const char* end = part.data() + part.size();
    const auto read = std::from_chars(part.data() + equals + 1, end, *field->second);
    if (read.ec != std::errc() || read.ptr != end || *field->second < 0) {
      return bad_schedule(text, "'" + part + "' is not a number of steps");
    }
  }
  if (plan.active == 0) return bad_schedule(text, "active is missing: how many steps to record");
  return {};
}

Result<double> read_budget(const std::string& text) {
  double share = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, share);
  if (error == std::errc() && at != end && *at == ' ') ++at;
  if (error == std::errc() && at != end && *at == '%') {
    ++at;
    share /= 100;
  }
  if (error != std::errc() || at != end || !(share > 0 && share <= 1)) {
    return Status::error(ErrorKind::kUsage, "--budget " + text +
                                                ": write a share of the run's time above 0 and up "
                                                "to 100%, such as 2%; for every op use --ops all");
  }
  return share;
}

std::string window_text(const std::string& steps, const std::string& schedule, double duration_s) {
  std::string text = steps;
  if (!schedule.empty()) text += (text.empty() ? "" : " ") + schedule;
  if (duration_s > 0) {
    std::ostringstream seconds;
    seconds << (text.empty() ? "" : " ") << "duration=" << duration_s << "s";
    text += seconds.str();
  }
  return text;
}

}  // namespace stepscope
