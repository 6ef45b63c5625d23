#include "viewer-export/stack_frames.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

// "PIL/Image.py" of ".../site-packages/PIL/Image.py", "multiprocessing/queues.py" of
// "/usr/lib/python3.11/multiprocessing/queues.py", "data.py" of "/src/me/data.py".
std::string_view short_name(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/", "/lib/python3"}) {
    const std::size_t place = file.rfind(folder);
    if (place == std::string_view::npos) continue;
    const std::size_t slash = file.find('/', place + folder.size() - 1);
    if (slash != std::string_view::npos && slash + 1 < file.size()) return file.substr(slash + 1);
  }
  const std::size_t slash = file.rfind('/');
  const bool has_name = slash != std::string_view::npos && slash + 1 < file.size();
  return has_name ? file.substr(slash + 1) : file;
}

}  // namespace

Result<StackFrames> StackFrames::read(const TraceReader& reader) {
  Result<std::vector<StackFrame>> frames = reader.frames();
  if (!frames.ok()) return frames.status();
  return StackFrames(reader, *std::move(frames));
}

StackFrames::StackFrames(const TraceReader& reader, std::vector<StackFrame> frames)
    : reader_(&reader), frames_(std::move(frames)) {
  std::vector<std::uint32_t> depths(frames_.size());
  shown_.reserve(frames_.size());
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const FrameId caller = frames_[i].caller;
    const std::uint32_t depth = caller == FrameId::kNone ? 1 : depths[index(caller)] + 1;
    depths[i] = depth;
    shown_.push_back(depth <= kMaxDepth ? static_cast<FrameId>(i + 1) : shown_[index(caller)]);
  }
  name_files();
}

void StackFrames::name_files() {
  for (const StackFrame& frame : frames_) file_names_.try_emplace(frame.file);
  std::map<std::string_view, int> files_with;
  for (const auto& [file, name] : file_names_) ++files_with[short_name(reader_->text(file))];
  for (auto& [file, name] : file_names_) {
    const std::string_view path = reader_->text(file);
    const std::string_view brief = short_name(path);
    name = files_with[brief] == 1 ? brief : path;
  }
}

void StackFrames::path_to(FrameId id, std::vector<FrameId>& path) const {
  path.clear();
  for (; id != FrameId::kNone; id = at(id).caller) path.push_back(id);
  std::ranges::reverse(path);
}

std::string StackFrames::name(FrameId id) const {
  const StackFrame& frame = at(id);
  std::string name(reader_->text(frame.function));
  if (name.empty()) name = "?";
  name += " (" + file_names_.at(frame.file);
  if (frame.line > 0) name += ":" + std::to_string(frame.line);
  return name + ")";
}

std::string thread_title(const WatchedThread& thread) {
  return (thread.name.empty() ? "thread" : thread.name) + " " + std::to_string(thread.tid);
}

}  // namespace stepscope
