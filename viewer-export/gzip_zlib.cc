#include "viewer-export/gzip_engines.h"

#ifdef STEPSCOPE_HAS_ZLIB

#include <zlib.h>

#include <vector>

namespace stepscope {
namespace {

constexpr std::size_t kOutputBytes = std::size_t{256} << 10;
constexpr int kGzipWindow = 15 + 16;  // zlib.h: 16 more asks for gzip's header and trailer

// Our three levels on zlib's nine.
int zlib_level(int level) { return level <= 1 ? 1 : level == 2 ? 4 : 6; }

class ZlibSink final : public ByteSink {
 public:
  ZlibSink(ByteSink& next, int level) : next_(next), output_(kOutputBytes) {
    ready_ = deflateInit2(&stream_, zlib_level(level), Z_DEFLATED, kGzipWindow, /*memLevel=*/9,
                          Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~ZlibSink() override {
    if (ready_) deflateEnd(&stream_);
  }
  ZlibSink(const ZlibSink&) = delete;
  ZlibSink& operator=(const ZlibSink&) = delete;

  Status write(std::string_view bytes) override {
    constexpr std::size_t kMax = std::size_t{1} << 30;  // avail_in has 32 bits
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, kMax);
      bytes.remove_prefix(part.size());
      if (Status status = compress(part, Z_NO_FLUSH); !status.ok()) return status;
    }
    return {};
  }

  Status finish() override {
    if (Status status = compress({}, Z_FINISH); !status.ok()) return status;
    return next_.finish();
  }

 private:
  Status compress(std::string_view bytes, int flush) {
    if (!ready_) return Status::error(ErrorKind::kIo, "no memory for the gzip compressor");
    // zlib takes a pointer to mutable input, which it only reads.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = output_.data();
      stream_.avail_out = static_cast<uInt>(output_.size());
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) {
        return Status::error(ErrorKind::kIo, "the gzip compressor failed");
      }
      const std::size_t made = output_.size() - stream_.avail_out;
      Status status = next_.write({reinterpret_cast<const char*>(output_.data()), made});
      if (!status.ok()) return status;
    } while (stream_.avail_out == 0);  // else all input was taken, and at the end all is out
    return {};
  }

  ByteSink& next_;
  z_stream stream_ = {};
  bool ready_ = false;
  std::vector<Bytef> output_;
};

}  // namespace

std::unique_ptr<ByteSink> make_zlib_sink(ByteSink& next, int level) {
  return std::make_unique<ZlibSink>(next, level);
}

}  // namespace stepscope

#else

namespace stepscope {
std::unique_ptr<ByteSink> make_zlib_sink(ByteSink&, int) { return nullptr; }
}  // namespace stepscope

#endif
