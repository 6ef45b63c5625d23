// The embedded recorder as libstepscope sees it: a library of its own, libstepscope_recorder.so,
// loaded when a program starts a recording. It contains SQLite, which must not be loaded into a
// program that is only wrapped: the program may have another SQLite.
//
// Both libraries are always of one build, so C++ types may pass between them. Exceptions may not:
// each library has a C++ runtime of its own, and one's catch does not see what the other threw.
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
  // Drains everything written so far, stores losses and `meta`, closes the store. Once.
  virtual Status stop(const Meta& meta) noexcept = 0;
};

struct RecorderStart {
  std::string output;
  Region region;
  Meta meta;
  std::function<void(const Status&)> on_failure;  // at most once, from the recorder's thread
};

struct StartedRecorder {
  Status status;
  std::unique_ptr<EmbeddedRecorder> recorder;  // when status.ok()
};

// The two entries of the library.
using StartRecorder = void (*)(const RecorderStart& start, StartedRecorder& result) noexcept;
// To be called before pthread_atfork() by who starts a recorder under a lock of its own: the store
// has fork handlers too, and the order of installing decides the order of locking.
using InstallForkHandlers = void (*)();

struct RecorderLibrary {
  StartRecorder start = nullptr;
  InstallForkHandlers install_fork_handlers = nullptr;
};

// Loads it, once. Errors: kUnavailable.
Result<RecorderLibrary> load_recorder_library();

}  // namespace stepscope
