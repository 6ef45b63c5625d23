#include "samples/cpp/serve/options.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "samples/cpp/command_line.h"

namespace serve {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  serve --batch 8 --length 64 --format torchscript\n"
    "  stepscope run -o eager.db -- serve\n"
    "  stepscope sweep -o grid.db -p batch=1,4,16 -p length=8,64,256 -p format=eager,torchscript "
    "\\\n"
    "    -- serve --batch {batch} --length {length} --format {format}";

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  const std::map<std::string, Format> formats{{"eager", Format::kEager},
                                              {"torchscript", Format::kTorchScript}};
  CLI::App app{"Calls a transformer encoder repeatedly, and reports the time per call.", "serve"};
  app.footer(kExamples);
  app.add_option("--format", options.format, "eager or torchscript")
      ->transform(CLI::CheckedTransformer(formats))
      ->default_str("eager");
  app.add_option("--batch", options.batch, "sequences per call")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  app.add_option("--length", options.length, "tokens per sequence")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  samples::add_width(app, options.width, kHeads);
  app.add_option("--layers", options.layers, "layers of the encoder")
      ->check(CLI::Range(1, 96))
      ->capture_default_str();
  app.add_option("--calls", options.calls, "how many calls to measure, after ten warm-up calls")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the weights and tokens")->capture_default_str();
  samples::add_threads(app, options.threads);
  samples::parse_or_exit(app, argc, argv);
  return options;
}

}  // namespace serve
