// The training loop.
#pragma once

#include "samples/cpp/mnist/dataset.h"
#include "samples/cpp/mnist/options.h"

namespace mnist {

// Trains and tests according to the options, prints the accuracy and the step times, and records
// itself. Exceptions of libtorch pass through.
void train(const Dataset& dataset, const Options& options);

}  // namespace mnist
