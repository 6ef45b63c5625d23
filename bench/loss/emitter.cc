// Emits ops at a fixed rate, for bench/loss/run.py:
//
//   loss_emitter --seconds S --rate OPS_PER_SECOND --threads N
//
// Each thread keeps its core busy and emits an op whenever its share of the rate allows one. It
// does not make up for time without a core, when a real program does no work either. Prints how
// many ops it emitted.
#include <ATen/record_function.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::int64_t emit(double seconds, double rate) {
  const auto period =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1.0 / rate));
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  std::int64_t emitted = 0;
  auto due = Clock::now();
  for (auto now = due; now < end; now = Clock::now()) {
    if (now < due) continue;
    // A gap of more than one period means that the thread had no core.
    due = now - due < period ? due + period : now + period;
    at::RecordFunction op(at::RecordScope::FUNCTION);
    if (op.isActive()) op.before("emitted", -1);
    ++emitted;
  }
  return emitted;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Emits ops at a fixed rate"};
  double seconds = 5;
  double rate = 1e6;
  int threads = 1;
  app.add_option("--seconds", seconds);
  app.add_option("--rate", rate, "ops per second, of all threads together");
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);

  std::vector<std::int64_t> emitted(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (std::int64_t& count : emitted) {
    running.emplace_back(
        [&count, seconds, rate, threads] { count = emit(seconds, rate / threads); });
  }
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < emitted.size(); ++i) {
    running[i].join();
    sum += emitted[i];
  }
  std::printf("%lld\n", static_cast<long long>(sum));
}
