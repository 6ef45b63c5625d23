#include "viewer-export/gzip_engines.h"

#ifdef STEPSCOPE_HAS_ISAL

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stepscope {
namespace {

constexpr std::size_t kOutputBytes = std::size_t{256} << 10;

std::uint32_t level_buffer_bytes(int level) {
  switch (level) {
    case 1:
      return ISAL_DEF_LVL1_DEFAULT;
    case 2:
      return ISAL_DEF_LVL2_DEFAULT;
    default:
      return ISAL_DEF_LVL3_DEFAULT;
  }
}

class IsalSink final : public ByteSink {
 public:
  IsalSink(ByteSink& next, int level)
      : next_(next), level_buffer_(level_buffer_bytes(level)), output_(kOutputBytes) {
    isal_deflate_init(&stream_);
    stream_.gzip_flag = IGZIP_GZIP;
    stream_.level = static_cast<std::uint32_t>(level);
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
  }

  Status write(std::string_view bytes) override {
    constexpr std::size_t kMax = std::size_t{1} << 30;  // avail_in has 32 bits
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, kMax);
      bytes.remove_prefix(part.size());
      if (Status status = compress(part, false); !status.ok()) return status;
    }
    return {};
  }

  Status finish() override {
    if (Status status = compress({}, true); !status.ok()) return status;
    return next_.finish();
  }

 private:
  Status compress(std::string_view bytes, bool last) {
    // igzip takes a pointer to mutable input, which it only reads.
    stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<std::uint32_t>(bytes.size());
    stream_.end_of_stream = last ? 1 : 0;
    do {
      stream_.next_out = output_.data();
      stream_.avail_out = static_cast<std::uint32_t>(output_.size());
      if (isal_deflate(&stream_) != COMP_OK) {
        return Status::error(ErrorKind::kIo, "the gzip compressor failed");
      }
      const std::size_t made = output_.size() - stream_.avail_out;
      Status status = next_.write({reinterpret_cast<const char*>(output_.data()), made});
      if (!status.ok()) return status;
    } while (stream_.avail_out == 0);  // else all input was taken, and at the end all is out
    return {};
  }

  ByteSink& next_;
  isal_zstream stream_;
  std::vector<std::uint8_t> level_buffer_;
  std::vector<std::uint8_t> output_;
};

}  // namespace

std::unique_ptr<ByteSink> make_isal_sink(ByteSink& next, int level) {
  return std::make_unique<IsalSink>(next, std::clamp(level, 1, ISAL_DEF_MAX_LEVEL));
}

}  // namespace stepscope

#else

namespace stepscope {
std::unique_ptr<ByteSink> make_isal_sink(ByteSink&, int) { return nullptr; }
}  // namespace stepscope

#endif
