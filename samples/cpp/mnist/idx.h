// IDX, the format that MNIST comes in: two zero bytes, a type byte (8: unsigned bytes), the number
// of dimensions, each dimension as a big-endian 32-bit number, then the data in row-major order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace mnist {

struct IdxArray {
  std::vector<std::uint32_t> shape;  // images: count, rows, columns; labels: count
  std::vector<std::uint8_t> bytes;   // their number is the product of the shape
};

// Reads a file of unsigned bytes, gzipped or plain. Throws std::runtime_error with one line that
// names the file if it is missing, is not an IDX file, has another element type, or is shorter or
// longer than its header says.
IdxArray read_idx(const std::filesystem::path& file);

// Throws std::runtime_error if the file cannot be written.
void write_idx(const std::filesystem::path& file, const IdxArray& array);

}  // namespace mnist
