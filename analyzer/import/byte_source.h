// The bytes of a file, read once from start to end; gzip files are decompressed. The content, not
// the name, decides whether a file is gzip.
//
// Thread safety: none. Memory: two fixed buffers, whatever the file's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "store/status.h"

namespace stepscope {

class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Up to `size` bytes; 0 only at the end. Errors: kIo; kBadInput (a gzip file that is damaged,
  // ends early, or is a decompression bomb), with the offset in the file.
  virtual Result<std::size_t> read(char* to, std::size_t size) = 0;

  // How far the file itself has been read, and how long it is (0: not known, a pipe).
  [[nodiscard]] virtual std::int64_t file_position() const = 0;
  [[nodiscard]] virtual std::int64_t file_size() const = 0;
};

// Errors: kNotFound, kIo (a folder, no permission). Several gzip members in a row are one stream;
// trailing data that is not gzip is ignored, as gzip does.
Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path);

// The first `size` raw bytes of a file, or all of a shorter one.
Result<std::string> first_bytes(const std::filesystem::path& path, std::size_t size);

}  // namespace stepscope
