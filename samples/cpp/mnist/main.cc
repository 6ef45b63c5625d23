// Trains Flatten, Dense(128, relu), Dense(10) on MNIST with an input pipeline that decodes each
// image on the loop thread; --cache and --prefetch fix that.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "samples/cpp/mnist/dataset.h"
#include "samples/cpp/mnist/options.h"
#include "samples/cpp/mnist/train.h"

namespace fs = std::filesystem;

int main(int argc, char** argv) {
  const mnist::Options options = mnist::parse_options(argc, argv);
  try {
    const fs::path folder = options.data.empty()
                                ? mnist::drawn_dataset({options.train_images, options.test_images})
                                : fs::path(options.data);
    mnist::train(mnist::load_dataset(folder), options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mnist: %s\n", error.what());
    return 1;
  }
  return 0;
}
