// The embedded recorder as libstepscope sees it: a separate library, libstepscope_recorder.so,
// loaded when a program starts a recording. It contains SQLite, which must not be loaded into a
// program that is only wrapped: the program may have another SQLite.
//
// Both libraries are always from the same build, so C++ types may pass between them. Exceptions may
// not: each library has its own C++ runtime, whose catch does not see exceptions of the other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler/ring/region.h"
#include "store/status.h"

namespace stepscope {

// Rows of the store's `meta`.
using Meta = std::vector<std::pair<std::string, std::string>>;

class EmbeddedRecorder {
 public:
  virtual ~EmbeddedRecorder() = default;
  // Drains everything written so far, stores losses and `meta`, and closes the store. Call it once.
  virtual Status stop(const Meta& meta) noexcept = 0;
};

struct RecorderStart {
  std::string output;
  Region region;
  Meta meta;
  std::function<void(const Status&)> on_failure;  // called at most once, on the recorder's thread
};

struct StartedRecorder {
  Status status;
  std::unique_ptr<EmbeddedRecorder> recorder;  // set if status.ok()
};

// The two entry points of the library.
using StartRecorder = void (*)(const RecorderStart& start, StartedRecorder& result) noexcept;
// Must be called before pthread_atfork() by code that starts a recorder while holding its own lock:
// the store has fork handlers too, and the order of installation determines the order of locking.
using InstallForkHandlers = void (*)();

struct RecorderLibrary {
  StartRecorder start = nullptr;
  InstallForkHandlers install_fork_handlers = nullptr;
};

// Loads the library, once. Errors: kUnavailable.
Result<RecorderLibrary> load_recorder_library();

}  // namespace stepscope
