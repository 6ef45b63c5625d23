// A server's inner loop: calls of one batch size and one length, eager or TorchScript.
#include <stepscope/stepscope.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>

#include "samples/cpp/serve/model.h"
#include "samples/cpp/serve/options.h"
#include "samples/cpp/step_log.h"

namespace serve {
namespace {

// TorchScript's profiling executor runs twice before it compiles, and with any format the first
// calls touch memory for the first time.
constexpr int kWarmUp = 10;

torch::Tensor make_tokens(const Options& options) {
  return torch::randint(kVocabulary, {options.batch, options.length}, torch::kInt64);
}

struct Result {
  samples::StepLog log;
  double sum = 0;  // of the outputs; must be the same for all formats
};

Result serve(Model& model, const Options& options) {
  const torch::NoGradGuard no_grad;
  for (int i = 0; i < kWarmUp; ++i) model.forward(make_tokens(options));
  Result result;
  result.log.restart();
  for (int i = 0; i < options.calls; ++i) {
    torch::Tensor tokens;
    {
      const stepscope::InputWait wait("request");
      tokens = make_tokens(options);
    }
    result.log.batch_arrived();
    result.sum += model.forward(tokens).sum().item<double>();
    stepscope::step();
    result.log.step_ended();
  }
  return result;
}

void run(const Options& options) {
  if (options.threads > 0) torch::set_num_threads(options.threads);
  torch::manual_seed(options.seed);
  const std::unique_ptr<Model> model =
      make_model(options.format, make_weights(options.length, options.width, options.layers));
  const Result result = serve(*model, options);
  const samples::StepLog& log = result.log;
  const double mean_ms = log.mean(1, log.size()).step_ms;
  std::printf("%zu calls of %lld x %lld tokens: mean %.3f ms   p50 %.3f   p90 %.3f   p99 %.3f\n",
              log.size(), static_cast<long long>(options.batch),
              static_cast<long long>(options.length), mean_ms, log.percentile_ms(0.5),
              log.percentile_ms(0.9), log.percentile_ms(0.99));
  std::printf("%.0f sequences/s   (outputs sum to %.2f)\n",
              static_cast<double>(options.batch) * 1e3 / mean_ms, result.sum);
}

}  // namespace
}  // namespace serve

int main(int argc, char** argv) {
  const serve::Options options = serve::parse_options(argc, argv);
  try {
    serve::run(options);
  } catch (const c10::Error& error) {  // out of memory, most likely
    std::fprintf(stderr, "serve: %s\n", error.what_without_backtrace());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "serve: %s\n", error.what());
    return 1;
  }
}
