// The TorchScript format, in a separate file because its headers take long to compile.
#pragma once

#include <memory>

#include "samples/cpp/serve/model.h"

namespace serve {

// Compiles the encoder's source and freezes it with the weights as constants.
std::unique_ptr<Model> make_torchscript_model(const Weights& weights);

}  // namespace serve
