#include "metrics/run_identity.h"

#include <array>
#include <cstdlib>
#include <ctime>

namespace stepscope {
namespace {

std::string time_text(std::int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

std::string variable_of_this_process(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string run_by_its_start(const std::string& program, std::int64_t start_unix_s) {
  return program + "@" + time_text(start_unix_s);
}

}  // namespace stepscope
