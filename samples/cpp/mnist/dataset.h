// A data set of images and labels in the format of MNIST's files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "samples/cpp/mnist/idx.h"

namespace mnist {

struct Split {
  IdxArray images;  // count × rows × columns
  IdxArray labels;  // count

  [[nodiscard]] std::size_t size() const { return labels.bytes.size(); }
  [[nodiscard]] std::uint32_t rows() const { return images.shape[1]; }
  [[nodiscard]] std::uint32_t columns() const { return images.shape[2]; }
};

struct Dataset {
  Split train;
  Split test;
};

inline constexpr int kClasses = 10;

// Reads train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte, or the same with .gz. Throws std::runtime_error with one line if one is
// missing or bad, or if images and labels do not match.
Dataset load_dataset(const std::filesystem::path& folder);

struct DrawnSize {
  std::uint32_t train = 60'000;
  std::uint32_t test = 10'000;
};

// The folder of a drawn data set of that size in the user's cache ($XDG_CACHE_HOME/stepscope, or
// ~/.cache/stepscope). Draws it the first time. Throws std::runtime_error if it cannot be written.
std::filesystem::path drawn_dataset(DrawnSize size);

}  // namespace mnist
