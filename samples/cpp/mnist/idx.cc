#include "samples/cpp/mnist/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

namespace mnist {
namespace {

constexpr std::uint8_t kUnsignedByte = 8;
constexpr std::size_t kMaxDimensions = 4;
constexpr std::size_t kChunk = std::size_t{1} << 20;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

// A gzipped or plain file; zlib passes plain files through.
class Input {
 public:
  explicit Input(const std::filesystem::path& file) : file_(file), gz_(gzopen(file.c_str(), "rb")) {
    if (gz_ == nullptr) fail(file_, std::strerror(errno));
  }
  ~Input() { gzclose(gz_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // Reads up to into.size() bytes; returns how many there were.
  std::size_t read(std::span<std::uint8_t> into) {
    std::size_t done = 0;
    while (done < into.size()) {
      const auto want = static_cast<unsigned>(std::min(into.size() - done, kChunk));
      const int got = gzread(gz_, into.data() + done, want);
      if (got < 0) fail(file_, std::string("cannot be read: ") + error_text());
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  const char* error_text() {
    int code = Z_OK;
    const char* text = gzerror(gz_, &code);
    return code == Z_ERRNO ? std::strerror(errno) : text;
  }

  std::filesystem::path file_;
  gzFile gz_;
};

std::uint32_t big_endian(std::span<const std::uint8_t, 4> bytes) {
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8U | byte;
  return value;
}

std::vector<std::uint32_t> read_shape(Input& input, const std::filesystem::path& file) {
  std::array<std::uint8_t, 4> magic{};
  if (input.read(magic) < magic.size() || magic[0] != 0 || magic[1] != 0) {
    fail(file,
         "is no IDX file (it must begin with two zero bytes, a type and a number of dimensions)");
  }
  if (magic[2] != kUnsignedByte) {
    fail(file, "holds elements of type " + std::to_string(magic[2]) +
                   "; only unsigned bytes (8) can be read");
  }
  if (magic[3] == 0 || magic[3] > kMaxDimensions) {
    fail(file, "claims " + std::to_string(magic[3]) + " dimensions; images have 3 and labels 1");
  }
  std::vector<std::uint32_t> shape;
  for (int i = 0; i < magic[3]; ++i) {
    std::array<std::uint8_t, 4> size{};
    if (input.read(size) < size.size()) fail(file, "ends within its header");
    shape.push_back(big_endian(size));
  }
  return shape;
}

std::size_t element_count(const std::vector<std::uint32_t>& shape,
                          const std::filesystem::path& file) {
  std::size_t count = 1;
  for (const std::uint32_t size : shape) {
    if (size != 0 && count > std::numeric_limits<std::size_t>::max() / size) {
      fail(file, "claims to be larger than memory can hold");
    }
    count *= size;
  }
  return count;
}

// Reads in pieces, so that a header with a false size does not cause a huge allocation.
std::vector<std::uint8_t> read_bytes(Input& input, std::size_t count,
                                     const std::filesystem::path& file) {
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < count) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min(count, before + std::max(kChunk, before)));
    const std::size_t got = input.read(std::span(bytes).subspan(before));
    if (before + got < bytes.size()) {
      fail(file, "is cut short: its header promises " + std::to_string(count) +
                     " bytes of data, it has " + std::to_string(before + got));
    }
  }
  std::array<std::uint8_t, 1> more{};
  if (input.read(more) != 0)
    fail(file, "goes on after the " + std::to_string(count) + " bytes its header promises");
  return bytes;
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& file) {
  Input input(file);
  IdxArray array;
  array.shape = read_shape(input, file);
  array.bytes = read_bytes(input, element_count(array.shape, file), file);
  return array;
}

void write_idx(const std::filesystem::path& file, const IdxArray& array) {
  std::vector<char> header = {0, 0, static_cast<char>(kUnsignedByte),
                              static_cast<char>(array.shape.size())};
  for (const std::uint32_t size : array.shape) {
    for (const unsigned shift : {24U, 16U, 8U, 0U})
      header.push_back(static_cast<char>(size >> shift & 0xFFU));
  }
  std::ofstream out(file, std::ios::binary);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  out.write(reinterpret_cast<const char*>(array.bytes.data()),
            static_cast<std::streamsize>(array.bytes.size()));
  out.close();
  if (!out) fail(file, std::string("cannot be written: ") + std::strerror(errno));
}

}  // namespace mnist
