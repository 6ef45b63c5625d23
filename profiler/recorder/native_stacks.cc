#include "profiler/recorder/native_stacks.h"

#include <utility>

#include "profiler/ring/ring_format.h"

namespace stepscope {
namespace {

constexpr std::size_t kMaxSamplesHeld = 100'000;
// For a program whose events never repeat.
constexpr std::size_t kMaxPlaces = 20'000;
// The most samples of one stretch: a program that sleeps for a day needs no more.
constexpr int kMaxOfStretch = 5'000;

}  // namespace

void NativeStacks::add(pid_t pid, OwnedFd maps) {
  if (!maps || !ModuleSymbols::are_supported()) return;
  programs_.insert_or_assign(pid,
                             std::unique_ptr<Program>(new Program{{pid, std::move(maps)}, {}}));
}

void NativeStacks::take(pid_t pid, pid_t tid, const std::vector<NativeStack>& stacks) {
  if (!stacks.empty() && !ModuleSymbols::are_supported()) lost_ = true;
  const auto program = programs_.find(pid);
  if (stacks.empty() || program == programs_.end()) return;
  const auto now = std::chrono::steady_clock::now();
  if (first_ == std::chrono::steady_clock::time_point()) first_ = now;
  for (const NativeStack& stack : stacks) {
    if (!holds_) {
      name(pid, tid, stack);
      continue;
    }
    program->second->frames.place(stack.at_end);
    program->second->frames.place(stack.at_begin);
    held_.push_back({pid, tid, stack});
  }
  if (!holds_ || (held_.size() < kMaxHeld && now - first_ < kFirstNames)) return;
  holds_ = false;
  name_all_held();
}

void NativeStacks::name_held(pid_t pid) {
  for (const Held& held : held_) {
    if (held.pid == pid) name(held.pid, held.tid, held.stack);
  }
  std::erase_if(held_, [pid](const Held& held) { return held.pid == pid; });
}

void NativeStacks::name_all_held() {
  for (const Held& held : held_) name(held.pid, held.tid, held.stack);
  held_.clear();
}

void NativeStacks::name(pid_t pid, pid_t tid, const NativeStack& stack) {
  const auto program = programs_.find(pid);
  if (program == programs_.end()) return;
  const std::uint32_t frame = frame_of(*program->second, tid, stack);
  if (frame == 0) return;
  SessionTime at = stack.due;
  for (int i = 0; at <= stack.end && i < kMaxOfStretch; ++i, at = at + stack.period) {
    if (found_.samples.size() >= kMaxSamplesHeld) return;
    found_.samples.push_back({pid, tid, at, frame});
    ++samples_;
  }
}

// If either stack is cut off, the frames of the two do not correspond, so they are not compared.
std::uint32_t NativeStacks::frame_of(Program& program, pid_t tid, const NativeStack& stack) {
  std::vector<NativeFrame> frames = program.frames.of(stack.at_end);
  if (program.begins.size() >= kMaxPlaces) program.begins.clear();
  std::vector<std::uint64_t>& begin = program.begins[{tid, stack.place}];
  if (!stack.at_begin.empty()) begin = stack.at_begin;
  const bool whole = stack.at_end.size() < kMaxStackFrames && begin.size() < kMaxStackFrames;
  if (whole && !begin.empty()) {
    std::vector<NativeFrame> common = common_frames(program.frames.of(begin), frames);
    if (!common.empty()) frames = std::move(common);
  }
  std::uint32_t frame = 0;
  for (const NativeFrame& next : frames) {
    // Code that no file holds, or of a process whose map could no longer be read.
    if (next.file.empty() && next.function.empty()) continue;
    frame =
        tree_.frame(frame, tree_.function_of(next.file, next.function), next.line, found_.frames);
  }
  return frame;
}

NativeBatch NativeStacks::found() { return std::exchange(found_, {}); }

}  // namespace stepscope
