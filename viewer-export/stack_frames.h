// The frames of call stacks under the names that viewers show: "decode (data.py:41)".
//
// Thread safety: none. Memory: the frames of the store, and a short name for each source file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/trace_reader.h"

namespace stepscope {

class StackFrames {
 public:
  // Recorded stacks have at most 200 frames. Deeper ones in a damaged store would make the output
  // grow with the square of the depth.
  static constexpr std::uint32_t kMaxDepth = 256;

  // `reader` must outlive the result.
  static Result<StackFrames> read(const TraceReader& reader);

  // The frame itself; if it is deeper than kMaxDepth, the frame at kMaxDepth that led to it.
  [[nodiscard]] FrameId shown(FrameId id) const { return shown_[index(id)]; }
  // The frame and its callers, outermost first; at most kMaxDepth for a shown frame.
  void path_to(FrameId id, std::vector<FrameId>& path) const;

  [[nodiscard]] const StackFrame& at(FrameId id) const { return frames_[index(id)]; }
  [[nodiscard]] std::size_t size() const { return frames_.size(); }
  [[nodiscard]] std::string_view file(FrameId id) const { return reader_->text(at(id).file); }
  // Plain text. Files are named by their last part, installed ones from their package on, and by
  // the whole path if two would get the same name.
  [[nodiscard]] std::string name(FrameId id) const;

 private:
  StackFrames(const TraceReader& reader, std::vector<StackFrame> frames);
  static std::size_t index(FrameId id) { return static_cast<std::size_t>(id) - 1; }
  void name_files();

  const TraceReader* reader_;
  std::vector<StackFrame> frames_;
  std::vector<FrameId> shown_;
  std::map<StringId, std::string> file_names_;
};

// "python 4242": a thread by its name and the system's number.
std::string thread_title(const WatchedThread& thread);

}  // namespace stepscope
