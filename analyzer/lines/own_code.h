// Which frames of a stack are the program's own, and which a library's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/events.h"

namespace stepscope {

// Of a source file: installed with a package, with Python or with the system, made up by the
// interpreter ("<frozen runpy>"), or a header of the C++ library or of libtorch, wherever these
// are. A cell of a notebook is the program's. Of native code without lines the file is its library
// or executable.
bool is_library_file(std::string_view file);

// The name of a native library, with the package that brings it: "numpy (libscipy_openblas64_)",
// "tokenizers", "libopenblas".
std::string native_library(std::string_view file);

// "PIL/Image.py" of ".../site-packages/PIL/Image.py"; of libraries of native code the name; of
// other files the last two parts.
std::string short_file(std::string_view file);

// As people are told of it: from the run's folder on where it is below that, a library's without
// the place of its installation. `folder` may be empty.
std::string told_file(std::string_view file, std::string_view folder);

// What a stack says about the program: the innermost frame of its own, and the innermost of all.
struct OwnFrame {
  FrameId own = FrameId::kNone;        // kNone: only libraries
  FrameId innermost = FrameId::kNone;  // differs from `own` where that called a library
};

class OwnCode {
 public:
  // `frames`: as TraceReader::frames() gives them. `text`: of their names; outlives this.
  OwnCode(const std::vector<StackFrame>& frames,
          const std::function<std::string_view(StringId)>& text);

  // Of the stack whose innermost frame is `frame`. What started a worker process is not its own.
  [[nodiscard]] OwnFrame of(FrameId frame) const { return found_[index(frame)]; }
  [[nodiscard]] const StackFrame& frame(FrameId id) const { return (*frames_)[index(id)]; }

 private:
  static std::size_t index(FrameId id) { return static_cast<std::size_t>(id) - 1; }

  const std::vector<StackFrame>* frames_;
  std::vector<OwnFrame> found_;  // of each frame
};

}  // namespace stepscope
