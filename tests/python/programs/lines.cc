// A training loop whose functions time themselves: `lines OWN.json BATCHES`.
#include <stepscope/c_api.h>
#include <stepscope/stepscope.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double decode_s = 0, read_s = 0, sleep_s = 0, log_s = 0;
volatile double sink = 0;

// Stands in for an op: two events with nothing between them.
void small_op() { const stepscope::Scope op("op"); }

class Timed {
 public:
  explicit Timed(double& seconds) : seconds_(seconds) {}
  ~Timed() { seconds_ += std::chrono::duration<double>(Clock::now() - began_).count(); }

 private:
  double& seconds_;
  Clock::time_point began_ = Clock::now();
};

void busy(std::chrono::microseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) sink = sink + 1;
}

[[gnu::noinline]] void decode() {
  const Timed timed(decode_s);
  for (int image = 0; image < 8; ++image) {
    small_op();
    busy(std::chrono::microseconds(500));
    small_op();
  }
}

[[gnu::noinline]] void read_file() {
  const Timed timed(read_s);
  small_op();
  static char bytes[1 << 20];
  const auto end = Clock::now() + std::chrono::microseconds(2000);
  FILE* file = std::fopen("/dev/zero", "rb");
  while (Clock::now() < end && std::fread(bytes, 1, sizeof(bytes), file) > 0) {
  }
  std::fclose(file);
  small_op();
}

[[gnu::noinline]] void wait_for_network() {
  const Timed timed(sleep_s);
  small_op();
  usleep(3000);
  small_op();
}

[[gnu::noinline]] void log_metrics() {
  const Timed timed(log_s);
  small_op();
  busy(std::chrono::microseconds(4000));
  small_op();
}

[[gnu::noinline]] int next_batch(int number) {
  read_file();
  wait_for_network();
  decode();
  return number;
}

}  // namespace

int main(int, char** arguments) {
  const int batches = std::atoi(arguments[2]);
  for (int i = 0; i < batches; ++i) {
    const stepscope_phase wait = stepscope_begin_input("reader", 6);
    const int batch = next_batch(i);
    stepscope_end_input(&wait, 0);
    busy(std::chrono::microseconds(1000 + batch % 2));
    const stepscope_phase update = stepscope_begin_optimizer("", 0);
    busy(std::chrono::microseconds(500));
    stepscope_end_optimizer(&update);
    log_metrics();
  }
  FILE* own = std::fopen(arguments[1], "w");
  std::fprintf(own, "{\"decode\": %f, \"read_file\": %f, \"wait_for_network\": %f, \"log\": %f}",
               decode_s, read_s, sleep_s, log_s);
  std::fclose(own);
  return 0;
}
