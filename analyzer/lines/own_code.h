// Which frames of a stack are the program's own, and which a library's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/events.h"

namespace stepscope {

// Whether a source file is a library's: installed with a package, with Python or with the system,
// made up by the interpreter ("<frozen runpy>"), or a header of the C++ library or of libtorch,
// wherever these are. A notebook cell is the program's. For native code without lines, `file` is
// its library or executable.
bool is_library_file(std::string_view file);

// The name of a native library, with the package that contains it: "numpy (libscipy_openblas64_)",
// "tokenizers", "libopenblas".
std::string native_library(std::string_view file);

// "PIL/Image.py" for ".../site-packages/PIL/Image.py"; for native libraries, the name; for other
// files, the last two parts.
std::string short_file(std::string_view file);

// A file as people see it: relative to the run's folder if it is below that, and without the
// installation path if it is a library's. `folder` may be empty.
std::string display_file(std::string_view file, std::string_view folder);

// What a stack says about the program: the innermost frame of its own code, and the innermost of
// all.
struct OwnFrame {
  FrameId own = FrameId::kNone;        // kNone: only libraries
  FrameId innermost = FrameId::kNone;  // differs from `own` if that called a library
};

class OwnCode {
 public:
  // `frames`: as TraceReader::frames() gives them. `text`: looks up their names; must outlive this
  // object.
  OwnCode(const std::vector<StackFrame>& frames,
          const std::function<std::string_view(StringId)>& text);

  // The frames of the stack whose innermost frame is `frame`. Code that started a worker process
  // does not count as the worker's own.
  [[nodiscard]] OwnFrame of(FrameId frame) const { return found_[index(frame)]; }
  [[nodiscard]] const StackFrame& frame(FrameId id) const { return (*frames_)[index(id)]; }

 private:
  static std::size_t index(FrameId id) { return static_cast<std::size_t>(id) - 1; }

  const std::vector<StackFrame>* frames_;
  std::vector<OwnFrame> found_;  // of each frame
};

}  // namespace stepscope
