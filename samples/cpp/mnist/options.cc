#include "samples/cpp/mnist/options.h"

#include <CLI/CLI.hpp>
#include <string>

#include "samples/cpp/command_line.h"

namespace mnist {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  mnist                                    the naive input pipeline; records steps 500-520\n"
    "  mnist --cache --prefetch 1               the same training with the input fixed\n"
    "  mnist --data ~/mnist --steps all         the real digits, every step recorded\n"
    "then\n"
    "  stepscope analyze mnist.db";

// "500-520" or "all".
bool parse_steps(const std::string& text, Options& options) {
  if (text == "all") {
    options.first_step = options.last_step = 0;
    return true;
  }
  std::size_t used = 0;
  try {
    options.first_step = std::stoll(text, &used);
    if (used >= text.size() || text[used] != '-') return false;
    const std::string last = text.substr(used + 1);
    options.last_step = std::stoll(last, &used);
    return used == last.size() && options.first_step >= 1 &&
           options.last_step >= options.first_step;
  } catch (const std::logic_error&) {  // not a number, or too large
    return false;
  }
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  std::string steps = "500-520";
  bool no_record = false;

  CLI::App app{"Trains a small network on MNIST, and records itself with Stepscope.", "mnist"};
  app.footer(kExamples);
  app.add_option("--data", options.data,
                 "folder of MNIST's four files, plain or .gz (default: drawn digits)")
      ->check(CLI::ExistingDirectory);
  app.add_option("--train-images", options.train_images, "how many drawn digits to train on")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  app.add_option("--test-images", options.test_images, "how many drawn digits to test on")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  app.add_flag("--cache", options.cache, "decode all images once, before the training");
  app.add_option("--prefetch", options.prefetch, "threads that prepare batches in the background")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app.add_option("--epochs", options.epochs, "passes through the data")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "images in a batch")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the weights and of the order of the images")
      ->capture_default_str();
  samples::add_threads(app, options.threads);
  app.add_option("--record", options.record, "the file to record to")->capture_default_str();
  app.add_flag("--no-record", no_record, "train without recording");
  app.add_option("--steps", steps, "first and last step whose ops are recorded, or all")
      ->check([&options](const std::string& text) {
        return parse_steps(text, options) ? ""
                                          : "'" + text + "' is neither A-B (1 <= A <= B) nor all";
      })
      ->capture_default_str();
  samples::parse_or_exit(app, argc, argv);
  if (no_record) options.record.clear();
  return options;
}

}  // namespace mnist
