// Preloaded: this program's clocks are not the machine's, as with a library that fakes the time.
// They run by a rate of STEPSCOPE_TEST_RATE from STEPSCOPE_TEST_SHIFT seconds later on.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

double number(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atof(text);
}

std::int64_t real_ns(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const double shift = number("STEPSCOPE_TEST_SHIFT", 0) * kSecondNs;
  static const double rate = number("STEPSCOPE_TEST_RATE", 1);
  static const std::int64_t begin = real_ns(CLOCK_MONOTONIC);
  const auto passed = static_cast<double>(real_ns(CLOCK_MONOTONIC) - begin);
  const std::int64_t ns = real_ns(clock) + static_cast<std::int64_t>(shift + passed * (rate - 1));
  *now = {ns / kSecondNs, ns % kSecondNs};
  return 0;
}
