#include "profiler/stacks/python_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace stepscope {
namespace {

constexpr PythonLayout kPython310{
    .runtime_interpreters = 32,
    .interpreter_next = 0,
    .interpreter_threads = 8,
    .thread_next = 8,
    .thread_tid = PythonLayout::kNone,
    .thread_pthread = 176,
    .thread_frame = 24,
    .frame_bytes = 112,
    .frame_code = 32,
    .frame_previous = 24,
    .frame_instruction = 96,
    .code_filename = 104,
    .code_name = 112,
    .code_first_line = 40,
    .code_line_table = 120,
    .text_state = 32,
    .text_length = 16,
    .ascii_bytes = 48,
    .text_bytes = 72,
    .bytes_size = 16,
    .bytes_text = 32,
};

constexpr PythonLayout kPython311{
    .runtime_interpreters = 40,
    .interpreter_next = 0,
    .interpreter_threads = 16,
    .thread_next = 8,
    .thread_tid = 160,
    .thread_frame = 56,
    .cframe_frame = 8,
    .frame_bytes = 80,
    .frame_code = 32,
    .frame_previous = 48,
    .frame_instruction = 56,
    .frame_owner = 69,
    .code_filename = 112,
    .code_name = 128,
    .code_first_line = 72,
    .code_line_table = 136,
    .code_instructions = 184,
    .text_state = 32,
    .text_length = 16,
    .ascii_bytes = 48,
    .text_bytes = 72,
    .bytes_size = 16,
    .bytes_text = 32,
};

constexpr PythonLayout kPython312{
    .runtime_interpreters = 40,
    .interpreter_next = 0,
    .interpreter_threads = 72,
    .thread_next = 8,
    .thread_tid = 144,
    .thread_frame = 56,
    .cframe_frame = 0,
    .frame_bytes = 80,
    .frame_code = 0,
    .frame_previous = 8,
    .frame_instruction = 56,
    .frame_owner = 70,
    .code_filename = 112,
    .code_name = 128,
    .code_first_line = 68,
    .code_line_table = 136,
    .code_instructions = 192,
    .text_state = 32,
    .text_length = 16,
    .ascii_bytes = 40,
    .text_bytes = 56,
    .bytes_size = 16,
    .bytes_text = 32,
};

// A description is a sequence of 64-bit words: a cookie, the version, whether it is free-threaded,
// then a group for each structure, its size first. These are the positions of the groups, and of
// the one word in a group that has moved. They may change with each version.
struct Groups {
  std::size_t interpreter, thread, frame, code, bytes, text;
  std::size_t tid_in_thread;
};
constexpr std::size_t kVersionWord = 1;
constexpr std::size_t kFreeThreadedWord = 2;
constexpr std::size_t kRuntimeGroup = 3;
constexpr Groups kGroups313{6, 19, 28, 34, 64, 67, 6};
constexpr Groups kGroups314{6, 22, 31, 39, 74, 77, 6};
constexpr Groups kGroups315{6, 22, 39, 47, 86, 89, 9};

// No structure of an interpreter is larger; the largest is PyInterpreterState, with 200 kB.
constexpr std::uint64_t kLargestStructure = std::uint64_t{1} << 22;
constexpr std::uint64_t kLargestFrame = 256;

class Description {
 public:
  explicit Description(std::span<const std::byte> runtime) {
    std::memcpy(words_.data(), runtime.data(), std::min(runtime.size(), sizeof(words_)));
  }

  [[nodiscard]] bool has_cookie() const {
    constexpr std::string_view kCookie = "xdebugpy";
    return std::memcmp(words_.data(), kCookie.data(), kCookie.size()) == 0;
  }
  [[nodiscard]] std::uint64_t word(std::size_t place) const { return words_[place]; }

  // The word `place` of a group: the offset of a field of `bytes` bytes in its structure.
  std::uint32_t offset(std::size_t group, std::size_t place, std::uint64_t bytes = 8) {
    const std::uint64_t size = words_[group];
    const std::uint64_t offset = words_[group + place];
    consistent_ =
        consistent_ && size <= kLargestStructure && bytes <= size && offset <= size - bytes;
    return static_cast<std::uint32_t>(offset);
  }
  std::uint32_t size(std::size_t group, std::uint64_t most) {
    consistent_ = consistent_ && words_[group] <= most;
    return static_cast<std::uint32_t>(words_[group]);
  }
  [[nodiscard]] bool consistent() const { return consistent_; }

 private:
  std::array<std::uint64_t, kPythonDescriptionBytes / 8> words_{};
  bool consistent_ = true;
};

std::optional<PythonLayout> layout_of(Description description, const Groups& at) {
  PythonLayout layout;
  layout.runtime_interpreters = description.offset(kRuntimeGroup, 2);
  layout.interpreter_next = description.offset(at.interpreter, 2);
  layout.interpreter_threads = description.offset(at.interpreter, 3);
  layout.thread_next = description.offset(at.thread, 2);
  layout.thread_frame = description.offset(at.thread, 4);
  layout.thread_tid = description.offset(at.thread, at.tid_in_thread);
  layout.frame_bytes = description.size(at.frame, kLargestFrame);
  layout.frame_previous = description.offset(at.frame, 1);
  layout.frame_code = description.offset(at.frame, 2);
  layout.frame_instruction = description.offset(at.frame, 3);
  layout.frame_owner = description.offset(at.frame, 5, 1);
  layout.code_filename = description.offset(at.code, 1);
  layout.code_name = description.offset(at.code, 3);
  layout.code_line_table = description.offset(at.code, 4);
  layout.code_first_line = description.offset(at.code, 5, 4);
  layout.code_instructions = description.offset(at.code, 9, 0);
  layout.bytes_size = description.offset(at.bytes, 1);
  layout.bytes_text = description.offset(at.bytes, 2, 0);
  layout.text_state = description.offset(at.text, 1, 4);
  layout.text_length = description.offset(at.text, 2);
  layout.ascii_bytes = description.offset(at.text, 3, 0);
  // A PyCompactUnicodeObject is one for ASCII, followed by the length of its UTF-8 and a pointer to
  // it.
  layout.text_bytes = layout.ascii_bytes + 16;
  if (!description.consistent()) return std::nullopt;
  return layout;
}

}  // namespace

std::optional<PythonLayout> fixed_python_layout(PythonVersion version) {
  if (version.major != 3) return std::nullopt;
  if (version.minor == 10) return kPython310;
  if (version.minor == 11) return kPython311;
  if (version.minor == 12) return kPython312;
  return std::nullopt;
}

std::optional<PythonVersion> described_python_version(std::span<const std::byte> runtime) {
  const Description description(runtime);
  if (!description.has_cookie()) return std::nullopt;
  const std::uint64_t hex = description.word(kVersionWord);  // 0x030d00f0: 3.13.0
  return PythonVersion{static_cast<int>((hex >> 24) & 0xff), static_cast<int>((hex >> 16) & 0xff)};
}

bool describes_free_threading(std::span<const std::byte> runtime) {
  const Description description(runtime);
  return description.has_cookie() && description.word(kFreeThreadedWord) != 0;
}

std::optional<PythonLayout> described_python_layout(std::span<const std::byte> runtime) {
  const auto version = described_python_version(runtime);
  const Description description(runtime);
  if (!version || version->major != 3 || description.word(kFreeThreadedWord) != 0)
    return std::nullopt;
  if (version->minor == 13) return layout_of(description, kGroups313);
  if (version->minor == 14) return layout_of(description, kGroups314);
  if (version->minor == 15) return layout_of(description, kGroups315);
  return std::nullopt;
}

}  // namespace stepscope
