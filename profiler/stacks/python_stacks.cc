#include "profiler/stacks/python_stacks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "profiler/stacks/python_lines.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

constexpr int kAttempts = 8;
constexpr std::size_t kMaxFrameBytes = 256;
constexpr std::size_t kMaxThreadBytes = 1024;
constexpr std::size_t kMaxInterpreters = 16;
constexpr std::chrono::milliseconds kSearchPeriod{100};
constexpr std::size_t kMaxCodes = 200'000;
// A code object that was checked a moment ago is not checked again: that would cost as much as
// reading the frame.
constexpr std::chrono::milliseconds kCheckPeriod{250};

// The offset in glibc's pthread_t of the thread's system id.
#if defined(__aarch64__)
constexpr std::uint64_t kTidInPthread = 208;
#else
constexpr std::uint64_t kTidInPthread = 720;
#endif

// From 3.14 on, the lowest bits of a reference are flags. Objects are aligned to 16 bytes.
constexpr std::uint64_t kReferenceFlags = 7;

// _PyInterpreterFrame.owner of frames that run Python code is at most this (thread, generator).
constexpr unsigned kLastOwnerOfCode = 1;

template <typename Value, std::size_t kSize>
Value value_in(const std::array<std::byte, kSize>& bytes, std::uint32_t offset) {
  Value value{};
  if (offset + sizeof(value) <= kSize) std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// How the characters of a str are stored, according to its state bits.
struct TextForm {
  unsigned width = 0;  // bytes a character
  bool ascii = false;
};

// The position of the bits depends on the version and its build: after 2, 8 or 16 bits. A name is
// always compact, and its width is 1, 2 or 4.
std::optional<TextForm> text_form(std::uint32_t state) {
  for (const unsigned shift : {2U, 8U, 16U}) {
    const unsigned width = (state >> shift) & 7U;
    const bool compact = ((state >> (shift + 3)) & 1U) != 0;
    const bool ascii = ((state >> (shift + 4)) & 1U) != 0;
    if (compact && (width == 1 || width == 2 || width == 4)) return TextForm{width, ascii};
  }
  return std::nullopt;
}

void append_utf8(std::string& text, std::uint32_t character) {
  const auto add = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto add_rest = [&](unsigned shift) { add(0x80U | ((character >> shift) & 0x3fU)); };
  if (character < 0x80) return add(character);
  if (character < 0x800) {
    add(0xc0U | (character >> 6));
    return add_rest(0);
  }
  if (character < 0x10000) {
    add(0xe0U | (character >> 12));
    add_rest(6);
    return add_rest(0);
  }
  add(0xf0U | ((character >> 18) & 7U));
  add_rest(12);
  add_rest(6);
  add_rest(0);
}

}  // namespace

PythonStacks::PythonStacks(const ProcessMemory& memory, const PythonRuntime& runtime)
    : memory_(memory), layout_(runtime.layout), runtime_(runtime.address), window_(memory) {
  functions_.push_back({"", "(too many functions)", 0});
}

std::optional<pid_t> PythonStacks::tid_at(std::uint64_t thread) const {
  if (layout_.thread_tid != PythonLayout::kNone) {
    const auto tid = memory_.read<std::uint64_t>(thread + layout_.thread_tid);
    if (!tid) return std::nullopt;
    return static_cast<pid_t>(*tid);
  }
  const auto pthread = memory_.read<std::uint64_t>(thread + layout_.thread_pthread);
  if (!pthread) return std::nullopt;
  return memory_.read<std::int32_t>(*pthread + kTidInPthread);
}

void PythonStacks::find_threads() {
  searched_at_ = Clock::now();
  threads_.clear();
  auto interpreter = memory_.read<std::uint64_t>(runtime_ + layout_.runtime_interpreters);
  for (std::size_t i = 0; i < kMaxInterpreters && interpreter && *interpreter != 0; ++i) {
    auto thread = memory_.read<std::uint64_t>(*interpreter + layout_.interpreter_threads);
    while (thread && *thread != 0 && threads_.size() < kMaxThreads) {
      const auto tid = tid_at(*thread);
      if (!tid || !threads_.emplace(*tid, *thread).second) break;
      thread = memory_.read<std::uint64_t>(*thread + layout_.thread_next);
    }
    interpreter = memory_.read<std::uint64_t>(*interpreter + layout_.interpreter_next);
  }
}

std::vector<pid_t> PythonStacks::threads() {
  find_threads();
  std::vector<pid_t> tids;
  for (const auto& [tid, thread] : threads_) tids.push_back(tid);
  return tids;
}

// Reads tid and frame at the same moment.
std::optional<PythonStacks::ThreadState> PythonStacks::state_of(std::uint64_t thread) const {
  if (layout_.thread_tid == PythonLayout::kNone) {
    const auto tid = tid_at(thread);
    const auto frame = memory_.read<std::uint64_t>(thread + layout_.thread_frame);
    if (!tid || !frame) return std::nullopt;
    return ThreadState{*tid, *frame, thread + layout_.thread_frame};
  }
  std::array<std::byte, kMaxThreadBytes> bytes{};
  const std::uint32_t begin = std::min(layout_.thread_frame, layout_.thread_tid);
  const std::uint32_t end = std::max(layout_.thread_frame, layout_.thread_tid) + 8;
  if (end - begin > kMaxThreadBytes || !memory_.read(thread + begin, bytes.data(), end - begin))
    return std::nullopt;
  ThreadState state{static_cast<pid_t>(value_in<std::uint64_t>(bytes, layout_.thread_tid - begin)),
                    value_in<std::uint64_t>(bytes, layout_.thread_frame - begin),
                    thread + layout_.thread_frame};
  if (layout_.cframe_frame == PythonLayout::kNone || state.frame == 0) return state;
  state.frame_at = state.frame + layout_.cframe_frame;
  const auto frame = memory_.read<std::uint64_t>(state.frame_at);
  if (!frame) return std::nullopt;
  state.frame = *frame;
  return state;
}

std::optional<std::uint64_t> PythonStacks::find_thread(pid_t tid) {
  auto thread = threads_.find(tid);
  if (thread != threads_.end()) {
    const auto state = state_of(thread->second);
    if (state && state->tid == tid) return thread->second;
  }
  if (now_ - searched_at_ < kSearchPeriod) return std::nullopt;
  find_threads();
  thread = threads_.find(tid);
  if (thread == threads_.end()) return std::nullopt;
  return thread->second;
}

StackOutcome PythonStacks::read(pid_t tid, std::vector<PythonFrame>& frames) {
  now_ = Clock::now();
  const auto thread = find_thread(tid);
  if (!thread) return StackOutcome::kNoStack;
  auto state = state_of(*thread);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (!state || state->frame == 0) return StackOutcome::kNoStack;
    frames.clear();
    window_.forget();
    const bool whole = walk(state->frame, frames);
    if (whole && memory_.read<std::uint64_t>(state->frame_at) == state->frame)
      return frames.empty() ? StackOutcome::kNoStack : StackOutcome::kRead;
    state = state_of(*thread);
  }
  return StackOutcome::kTorn;
}

bool PythonStacks::walk(std::uint64_t frame, std::vector<PythonFrame>& frames) {
  // Frames that run no Python code lie between the others.
  for (std::size_t i = 0; i < 2 * kMaxFrames && frame != 0; ++i) {
    std::uint64_t previous = 0;
    if (!add_frame(frame, frames, previous) || previous == frame) return false;
    if (frames.size() >= kMaxFrames) return true;
    frame = previous;
  }
  return true;
}

bool PythonStacks::add_frame(std::uint64_t frame, std::vector<PythonFrame>& frames,
                             std::uint64_t& previous) {
  std::array<std::byte, kMaxFrameBytes> bytes{};
  const std::size_t size = std::min<std::size_t>(layout_.frame_bytes, kMaxFrameBytes);
  if (!window_.read(frame, bytes.data(), size)) return false;
  previous = value_in<std::uint64_t>(bytes, layout_.frame_previous);
  if (layout_.frame_owner != PythonLayout::kNone &&
      value_in<std::uint8_t>(bytes, layout_.frame_owner) > kLastOwnerOfCode) {
    return true;
  }
  const std::uint64_t address =
      value_in<std::uint64_t>(bytes, layout_.frame_code) & ~kReferenceFlags;
  const Code* code = code_at(address);
  if (code == nullptr) return false;
  std::optional<int> line;
  if (layout_.code_instructions == PythonLayout::kNone) {
    const std::int64_t index = value_in<std::int32_t>(bytes, layout_.frame_instruction);
    line = python_line_310(code->lines, code->first_line, index * 2);
  } else {
    const auto instruction = value_in<std::uint64_t>(bytes, layout_.frame_instruction);
    const auto offset =
        static_cast<std::int64_t>(instruction - (address + layout_.code_instructions));
    line = python_line(code->lines, code->first_line, offset);
  }
  frames.push_back({code->function, line.value_or(0)});
  return true;
}

const PythonStacks::Code* PythonStacks::code_at(std::uint64_t address) {
  const auto known = codes_.find(address);
  if (known != codes_.end() && now_ - known->second.checked_at < kCheckPeriod)
    return &known->second;
  std::array<std::byte, kMaxFrameBytes> bytes{};
  const std::uint32_t end = 8 + std::max({layout_.code_filename, layout_.code_name,
                                          layout_.code_line_table, layout_.code_first_line});
  if (end > kMaxFrameBytes || !memory_.read(address, bytes.data(), end)) return nullptr;
  Code found;
  found.file = value_in<std::uint64_t>(bytes, layout_.code_filename);
  found.name = value_in<std::uint64_t>(bytes, layout_.code_name);
  found.line_table = value_in<std::uint64_t>(bytes, layout_.code_line_table);
  found.first_line = value_in<std::int32_t>(bytes, layout_.code_first_line);
  if (found.first_line < 0) return nullptr;  // not a code object
  // The code object may have been freed and another created in its place.
  if (known != codes_.end()) {
    Code& code = known->second;
    if (code.file == found.file && code.name == found.name && code.line_table == found.line_table &&
        code.first_line == found.first_line) {
      code.checked_at = now_;
      return &code;
    }
    codes_.erase(known);
  }
  const auto file = text_at(found.file);
  const auto name = text_at(found.name);
  const auto size = memory_.read<std::uint64_t>(found.line_table + layout_.bytes_size);
  if (!file || !name || !size || *size > kMaxLineTableBytes) return nullptr;
  found.lines.resize(*size);
  if (!memory_.read(found.line_table + layout_.bytes_text, found.lines.data(), *size) && *size > 0)
    return nullptr;
  found.checked_at = now_;
  found.function = function_of({*file, *name, found.first_line});
  if (codes_.size() >= kMaxCodes) codes_.clear();
  return &codes_.emplace(address, std::move(found)).first->second;
}

std::optional<std::string> PythonStacks::text_at(std::uint64_t address) const {
  const auto state = memory_.read<std::uint32_t>(address + layout_.text_state);
  const auto length = memory_.read<std::uint64_t>(address + layout_.text_length);
  if (!state || !length) return std::nullopt;
  const auto form = text_form(*state);
  if (!form) return std::nullopt;
  const std::size_t characters = std::min<std::uint64_t>(*length, kMaxNameBytes / form->width);
  std::string stored(characters * form->width, '\0');
  const std::uint64_t begin = address + (form->ascii ? layout_.ascii_bytes : layout_.text_bytes);
  if (characters > 0 && !memory_.read(begin, stored.data(), stored.size())) return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < stored.size(); i += form->width) {
    std::uint32_t character = 0;
    std::memcpy(&character, stored.data() + i, form->width);  // little-endian, as CPython stores it
    append_utf8(text, character);
  }
  return clean_utf8(text);
}

std::uint32_t PythonStacks::function_of(PythonFunction function) {
  const std::string key =
      function.file + '\0' + function.name + '\0' + std::to_string(function.first_line);
  const auto known = function_ids_.find(key);
  if (known != function_ids_.end()) return known->second;
  if (functions_.size() >= kMaxFunctions) return 0;
  functions_.push_back(std::move(function));
  const auto id = static_cast<std::uint32_t>(functions_.size() - 1);
  function_ids_.emplace(key, id);
  return id;
}

}  // namespace stepscope
