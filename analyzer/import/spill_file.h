// A temporary file next to the output, for data that does not fit into memory. It is unlinked, so
// nothing is left behind however the program ends.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "store/status.h"

namespace stepscope {

class SpillFile {
 public:
  // Created in `folder` by the first append().
  explicit SpillFile(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Returns the offset of the bytes in the file. Errors: kIo.
  Result<std::int64_t> append(std::span<const std::byte> bytes);
  // Fills `to` from `offset` on.
  Status read(std::int64_t offset, std::span<std::byte> to);

 private:
  Status create();
  [[nodiscard]] Status failure(const char* what) const;

  const std::filesystem::path folder_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace stepscope
