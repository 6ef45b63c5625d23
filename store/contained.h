// A border that no exception may cross: the body of a thread, an entry that the profiled program
// calls, the loop that must see the program's end.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "store/status.h"

namespace stepscope {

// What a caught exception says, as an error of kind kIo. Never throws: the text of an exception
// that came for lack of memory fits into a string without any.
inline Status status_of(const std::exception& error) noexcept {
  try {
    if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) {
      return Status::error(ErrorKind::kIo, error.what());
    }
  } catch (...) {
  }
  return Status::error(ErrorKind::kIo, "out of memory");
}

// Runs `work`, which returns a Status or a Result, and returns that or what it threw.
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
