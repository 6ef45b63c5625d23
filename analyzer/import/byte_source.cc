#include "analyzer/import/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kInput = std::size_t{1} << 18;  // large enough for one read()
// A trace compresses to a tenth or a thirtieth. A file that expands to more than this many times
// its size is meant to keep its reader busy. Small files may, because reading them takes no time.
constexpr std::int64_t kMaxGrowth = 250;
constexpr std::int64_t kAnyGrowth = std::int64_t{256} << 20;

constexpr unsigned char kGzipMagic[] = {0x1f, 0x8b};

Status system_error(const fs::path& path, int code) {
  const bool absent = code == ENOENT || code == ENOTDIR;
  return Status::error(absent ? ErrorKind::kNotFound : ErrorKind::kIo,
                       path.string() + ": " + std::strerror(code));
}

class File {
 public:
  explicit File(fs::path path) : path_(std::move(path)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Status open() {
    if (path_.empty()) return Status::error(ErrorKind::kUsage, "the name of the file is empty");
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) return system_error(path_, errno);
    if (S_ISDIR(status.st_mode)) return system_error(path_, EISDIR);
    size_ = S_ISREG(status.st_mode) ? std::int64_t{status.st_size} : 0;
    return {};
  }

  // Returns 0 only at the end.
  Result<std::size_t> read(char* to, std::size_t size) {
    while (true) {
      const ssize_t count = ::read(descriptor_, to, size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error(path_, errno);
      position_ += count;
      return static_cast<std::size_t>(count);
    }
  }

  // Reads until there are `size` bytes or the file ends.
  Result<std::size_t> read_all(char* to, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      const Result<std::size_t> count = read(to + done, size - done);
      if (!count.ok()) return count;
      if (*count == 0) break;
      done += *count;
    }
    return done;
  }

  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::int64_t position() const { return position_; }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  fs::path path_;
  int descriptor_ = -1;
  std::int64_t position_ = 0;
  std::int64_t size_ = 0;
};

class PlainSource : public ByteSource {
 public:
  // `head`: the part of the file that was already read.
  PlainSource(std::unique_ptr<File> file, std::string head)
      : file_(std::move(file)), head_(std::move(head)) {}

  Result<std::size_t> read(char* to, std::size_t size) override {
    if (head_.empty()) return file_->read(to, size);
    const std::size_t count = head_.copy(to, size);
    head_.erase(0, count);
    return count;
  }
  [[nodiscard]] std::int64_t file_position() const override { return file_->position(); }
  [[nodiscard]] std::int64_t file_size() const override { return file_->size(); }

 private:
  std::unique_ptr<File> file_;
  std::string head_;
};

class GzipSource : public ByteSource {
 public:
  GzipSource(std::unique_ptr<File> file, const std::string& head)
      : file_(std::move(file)), input_(kInput) {
    std::memcpy(input_.data(), head.data(), head.size());
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(head.size());
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  Status begin() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) == Z_OK) return {};
    return Status::error(ErrorKind::kIo,
                         file_->path().string() + ": not enough memory to decompress it");
  }

  Result<std::size_t> read(char* to, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size && !ended_) {
      if (Status status = refill(); !status.ok()) return status;
      if (Status status = advance(); !status.ok()) return status;
    }
    const std::size_t count = size - stream_.avail_out;
    inflated_ += static_cast<std::int64_t>(count);
    if (inflated_ > kAnyGrowth && inflated_ / kMaxGrowth > file_position()) {
      return broken("the gzip data expands to more than 250 times the file size; no trace does");
    }
    return count;
  }
  [[nodiscard]] std::int64_t file_position() const override {
    return file_->position() - std::int64_t{stream_.avail_in};
  }
  [[nodiscard]] std::int64_t file_size() const override { return file_->size(); }

 private:
  Status refill() {
    if (stream_.avail_in > 0) return {};
    const Result<std::size_t> count =
        file_->read(reinterpret_cast<char*>(input_.data()), input_.size());
    if (!count.ok()) return count.status();
    if (*count == 0) return broken("the gzip data ends early (was it cut off?)");
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(*count);
    return {};
  }

  Status advance() {
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) return next_member();
    if (code == Z_OK || code == Z_BUF_ERROR) return {};
    return broken("the gzip data is damaged");
  }

  // Begins the next member if there is one. Anything else that follows is ignored.
  Status next_member() {
    if (stream_.avail_in < sizeof kGzipMagic) {
      std::memmove(input_.data(), stream_.next_in, stream_.avail_in);
      const Result<std::size_t> count =
          file_->read_all(reinterpret_cast<char*>(input_.data()) + stream_.avail_in,
                          input_.size() - stream_.avail_in);
      if (!count.ok()) return count.status();
      stream_.next_in = input_.data();
      stream_.avail_in += static_cast<uInt>(*count);
    }
    ended_ = stream_.avail_in < sizeof kGzipMagic ||
             std::memcmp(stream_.next_in, kGzipMagic, sizeof kGzipMagic) != 0;
    if (!ended_) inflateReset(&stream_);
    return {};
  }

  Status broken(const char* what) {
    return Status::error(ErrorKind::kBadInput, file_->path().string() + ": byte " +
                                                   std::to_string(file_position()) + ": " + what);
  }

  std::unique_ptr<File> file_;
  std::vector<Bytef> input_;
  z_stream stream_{};
  std::int64_t inflated_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const fs::path& path) {
  auto file = std::make_unique<File>(path);
  if (Status status = file->open(); !status.ok()) return status;
  std::string head(sizeof kGzipMagic, '\0');
  const Result<std::size_t> count = file->read_all(head.data(), head.size());
  if (!count.ok()) return count.status();
  head.resize(*count);
  if (std::memcmp(head.data(), kGzipMagic, head.size()) != 0 || head.size() < sizeof kGzipMagic) {
    return std::unique_ptr<ByteSource>(
        std::make_unique<PlainSource>(std::move(file), std::move(head)));
  }
  auto gzip = std::make_unique<GzipSource>(std::move(file), head);
  if (Status status = gzip->begin(); !status.ok()) return status;
  return std::unique_ptr<ByteSource>(std::move(gzip));
}

Result<std::string> first_bytes(const fs::path& path, std::size_t size) {
  File file(path);
  if (Status status = file.open(); !status.ok()) return status;
  std::string head(size, '\0');
  const Result<std::size_t> count = file.read_all(head.data(), head.size());
  if (!count.ok()) return count.status();
  head.resize(*count);
  return head;
}

}  // namespace stepscope
