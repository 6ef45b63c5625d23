// The output of exporters: a file, a compressor in front of a file, a string in tests.
#pragma once

#include <string>
#include <string_view>

#include "store/status.h"

namespace stepscope {

// Thread safety: none. After an error the output is useless, and callers may skip further calls.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status write(std::string_view bytes) = 0;
  // Flushes buffered bytes. The last call.
  virtual Status finish() = 0;
};

class StringSink final : public ByteSink {
 public:
  Status write(std::string_view bytes) override {
    text_ += bytes;
    return {};
  }
  Status finish() override { return {}; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace stepscope
