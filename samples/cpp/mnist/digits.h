// Draws handwriting-like digits in MNIST's shape, for machines that do not have MNIST.
#pragma once

#include <cstdint>

#include "samples/cpp/mnist/idx.h"

namespace mnist {

inline constexpr std::uint32_t kSide = 28;  // pixels; as in MNIST

struct LabelledImages {
  IdxArray images;  // count × 28 × 28, 0 is the background
  IdxArray labels;  // count, 0 to 9
};

// `count` digits, the ten kinds in random order, each with its own slant, size, place, stroke
// width, waviness and noise. Equal seeds give equal bytes on every machine: an image depends on the
// seed and its index alone.
LabelledImages draw_digits(std::uint32_t count, std::uint64_t seed);

}  // namespace mnist
