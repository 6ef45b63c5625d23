// The output file of an export. It appears under its name only when it is complete: until then the
// bytes go to a file next to it, so that a failed export never destroys an earlier one.
#pragma once

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "viewer-export/byte_sink.h"

namespace stepscope {

class OutputFile final : public ByteSink {
 public:
  // "-" is standard output. A name of an open file, such as /dev/stdout or /dev/fd/3, is written
  // where that file stands, after what it has. A symbolic link is followed, also to a file that is
  // not there yet, but not another user's in a folder like /tmp. Anything but a regular file (a
  // pipe, /dev/null) is written in place. A file that is replaced keeps its owner, group and
  // permissions, also while the new one is being written; one that the user may not write is not
  // replaced. `inputs`: what the output is made from. Errors: kIo (not writable), kUsage (no name,
  // or one of the inputs), kBadInput (a folder or a database is there, which is never replaced).
  static Result<std::unique_ptr<OutputFile>> create(
      const std::filesystem::path& path, const std::vector<std::filesystem::path>& inputs = {});

  // Without finish(), removes the unfinished file. So does a signal that ends the program.
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Whether a file appears under the name. False if it is written in place.
  [[nodiscard]] bool appears() const { return !partial_.empty(); }

  Status write(std::string_view bytes) override;
  Status finish() override;

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path partial, int fd)
      : path_(std::move(path)), partial_(std::move(partial)), fd_(fd) {}
  void forget_partial(bool remove);
  [[nodiscard]] Status failed(const char* what) const;  // with errno

  const std::filesystem::path path_;
  const std::filesystem::path partial_;  // empty: written in place
  int fd_;                               // -1: closed
};

// Whether an output of this name goes to standard output: "-", /dev/stdout or a link to it. Then
// nothing else may be printed there.
bool is_standard_output(const std::filesystem::path& path);

}  // namespace stepscope
