// The file an export ends in. It appears under its name only when it is whole: until then the bytes
// go to a file beside it, so that a failed export never costs an earlier good one.
#pragma once

#include <filesystem>
#include <memory>

#include "viewer-export/byte_sink.h"

namespace stepscope {

class OutputFile final : public ByteSink {
 public:
  // "-" is standard output. A symbolic link is followed; what is no regular file (a pipe,
  // /dev/null) is written in place. Errors: kIo (not writable), kBadInput (a folder or a
  // database is there, which is never replaced).
  static Result<std::unique_ptr<OutputFile>> create(const std::filesystem::path& path);

  ~OutputFile() override;  // without finish(): takes the unfinished file away
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status write(std::string_view bytes) override;
  Status finish() override;

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path partial, int fd)
      : path_(std::move(path)), partial_(std::move(partial)), fd_(fd) {}
  [[nodiscard]] Status failed(const char* what) const;  // with errno

  const std::filesystem::path path_;
  const std::filesystem::path partial_;  // empty: written in place
  int fd_;                               // -1: closed
};

}  // namespace stepscope
