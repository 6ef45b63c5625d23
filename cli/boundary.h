// Where exceptions end. Ours are Status; what is thrown comes from the standard library: memory that
// ran out, above all. main() has one boundary for a verb, and each thread that a verb starts has one,
// since an exception that leaves a thread ends the program without a word.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "store/status.h"

namespace stepscope::cli {

// Calls `work`, which returns a Status or a Result; what it throws is an error of kIo.
template <typename Work>
auto catching(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status::error(ErrorKind::kIo, "memory ran out");  // fits into a string without memory
  } catch (const std::exception& error) {
    return Status::error(ErrorKind::kIo, std::string("an error of this program: ") + error.what());
  }
}

}  // namespace stepscope::cli
