// A text as a source of bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "analyzer/import/byte_source.h"

namespace stepscope::testing {

class TextSource : public ByteSource {
 public:
  // `piece`: how many bytes each read() yields at most.
  TextSource(std::string text, std::size_t piece) : text_(std::move(text)), piece_(piece) {}

  Result<std::size_t> read(char* to, std::size_t size) override {
    const std::size_t count = std::min({size, piece_, text_.size() - at_});
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return count;
  }
  [[nodiscard]] std::int64_t file_position() const override {
    return static_cast<std::int64_t>(at_);
  }
  [[nodiscard]] std::int64_t file_size() const override {
    return static_cast<std::int64_t>(text_.size());
  }

 private:
  std::string text_;
  std::size_t piece_;
  std::size_t at_ = 0;
};

}  // namespace stepscope::testing
