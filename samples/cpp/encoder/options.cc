#include "samples/cpp/encoder/options.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "samples/cpp/command_line.h"

namespace encoder {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope run -o batch.db -- encoder                   32 sentences per call, in order\n"
    "  stepscope run -o sorted.db -- encoder --sort           sentences of similar length\n"
    "  stepscope run -o single.db -- encoder --mode single    one sentence per call\n"
    "  stepscope sweep -o sweep.db -p batch=1..256*2 -- encoder --batch {batch}";

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  const std::map<std::string, Mode> modes{
      {"single", Mode::kSingle}, {"batch", Mode::kBatch}, {"full", Mode::kFull}};
  CLI::App app{"Classifies sentences with a transformer encoder and reports the time for each.",
               "encoder"};
  app.footer(kExamples);
  app.add_option("--sentences", options.sentences, "how many sentences to classify")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--mode", options.mode, "sentences per call: single, batch, or full (all at once)")
      ->transform(CLI::CheckedTransformer(modes))
      ->default_str("batch");
  app.add_option("--batch", options.batch, "sentences per call with --mode batch")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
      ->capture_default_str();
  app.add_flag("--sort", options.sorted, "classify from long to short");
  samples::add_width(app, options.width, kHeads);
  app.add_option("--layers", options.layers, "layers of the encoder")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{96}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of sentences and weights")->capture_default_str();
  samples::add_threads(app, options.threads);
  samples::parse_or_exit(app, argc, argv);
  return options;
}

}  // namespace encoder
