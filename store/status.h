// The one error vocabulary: a Status is success or a kind and one line for a person; a Result<T> is
// a T or such a Status. Both are [[nodiscard]]. Nothing here throws, so that a Status may cross a
// hook of the profiled program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace stepscope {

// What went wrong, as far as a script must tell it apart. The CLI maps it to an exit code
// (docs/cli.md): kUsage to 2, everything else to 3.
enum class ErrorKind : std::uint8_t {
  kNone,
  kUsage,        // the call itself makes no sense (bad option value)
  kNotFound,     // a file or program does not exist
  kBadInput,     // a file exists but is not what it should be (not a store, corrupt, newer schema)
  kBusy,         // somebody else is using it (another recording)
  kIo,           // the system refused (permission, disk full)
  kUnavailable,  // this machine or build cannot do it (no hooks for this libtorch)
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // success

  // `message`: one line that names the thing, what is wrong with it and what to do.
  static Status error(ErrorKind kind, std::string message) {
    Status status;
    status.kind_ = kind;
    status.message_ = std::move(message);
    return status;
  }

  [[nodiscard]] bool ok() const { return kind_ == ErrorKind::kNone; }
  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  ErrorKind kind_ = ErrorKind::kNone;
  std::string message_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit, so that `return value;` works
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: so that `return error;` works

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }

  // Only when ok().
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace stepscope
