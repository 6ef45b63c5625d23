// The bytes of a file, read once from its beginning to its end; a gzip file's are what it holds.
// Whether it is one is told by its content, not by its name.
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
  // ends early, or is a bomb), with the offset in the file.
  virtual Result<std::size_t> read(char* to, std::size_t size) = 0;

  // How far the file itself has been read, and how long it is (0: not known, a pipe).
  [[nodiscard]] virtual std::int64_t file_position() const = 0;
  [[nodiscard]] virtual std::int64_t file_size() const = 0;
};

// Errors: kNotFound, kIo (a folder, no permission). Several gzip members in a row are one stream;
// what follows the last of them and is none is ignored, as gzip does.
Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path);

// The first bytes of a file as they are, at most `size`; less than that only when it is shorter.
Result<std::string> first_bytes(const std::filesystem::path& path, std::size_t size);

}  // namespace stepscope
