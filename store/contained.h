// A boundary that no exception may cross: the body of a thread, an entry point that the profiled
// program calls, the loop that must see the program end.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "store/status.h"

namespace stepscope {

// Converts a caught exception to an error of kind kIo. Never throws: without memory, the message is
// "out of memory", which fits into a string without an allocation.
inline Status status_of(const std::exception& error) noexcept {
  try {
    if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) {
      return Status::error(ErrorKind::kIo, error.what());
    }
  } catch (...) {
  }
  return Status::error(ErrorKind::kIo, "out of memory");
}

// Runs `work`, which returns a Status or a Result. Returns that, or what `work` threw as an error.
template <typename Work>
auto contained(Work&& work) noexcept -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception& error) {
    return status_of(error);
  } catch (...) {
    return Status::error(ErrorKind::kIo, "unknown error");
  }
}

}  // namespace stepscope
