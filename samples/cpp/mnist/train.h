// The training loop.
#pragma once

#include "samples/cpp/mnist/dataset.h"
#include "samples/cpp/mnist/options.h"

namespace mnist {

// Trains and tests as the options say, prints what it learned and what its steps took, and records
// itself. Throws what libtorch throws.
void train(const Dataset& dataset, const Options& options);

}  // namespace mnist
