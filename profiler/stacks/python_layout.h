// Where the parts of a running CPython lie in its memory.
//
// From 3.13 on an interpreter describes itself (_Py_DebugOffsets at the beginning of _PyRuntime).
// The structures of 3.10 to 3.12 are fixed for each minor version; their offsets are those that
// offsetof() gives with its headers on x86-64 and arm64 Linux, in a build that has the GIL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stepscope {

struct PythonVersion {
  int major = 0;
  int minor = 0;
};

// Offsets in bytes; of a structure where `…_` names it.
struct PythonLayout {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t runtime_interpreters = 0;  // the first PyInterpreterState*
  std::uint32_t interpreter_next = 0;
  std::uint32_t interpreter_threads = 0;  // the first PyThreadState*
  std::uint32_t thread_next = 0;
  std::uint32_t thread_tid = 0;          // the system's id; kNone: only its pthread_t is known
  std::uint32_t thread_pthread = kNone;  // the pthread_t
  // Where the innermost frame is found: in the thread state, or in what it points to there.
  std::uint32_t thread_frame = 0;
  std::uint32_t cframe_frame = kNone;  // kNone: thread_frame is the frame itself

  std::uint32_t frame_bytes = 0;  // all that is read of a frame
  std::uint32_t frame_code = 0;
  std::uint32_t frame_previous = 0;
  std::uint32_t frame_instruction = 0;  // a pointer into the code; of 3.10 an index
  std::uint32_t frame_owner = kNone;    // kNone: each frame is one of Python code

  std::uint32_t code_filename = 0;
  std::uint32_t code_name = 0;  // the qualified one where there is one
  std::uint32_t code_first_line = 0;
  std::uint32_t code_line_table = 0;
  std::uint32_t code_instructions = kNone;  // kNone: 3.10, whose frames hold an index

  std::uint32_t text_state = 0;   // of a str
  std::uint32_t text_length = 0;  // in characters
  std::uint32_t ascii_bytes = 0;  // before the text of an ASCII str
  std::uint32_t text_bytes = 0;   // before the text of any other
  std::uint32_t bytes_size = 0;   // of a bytes object
  std::uint32_t bytes_text = 0;
};

// Of 3.10 to 3.12. Nothing for other versions.
std::optional<PythonLayout> fixed_python_layout(PythonVersion version);

// Of 3.13 and later, from what lies at _PyRuntime. Nothing where that is no description, one of a
// version that is not known, of a build without the GIL, or one that contradicts itself.
inline constexpr std::size_t kPythonDescriptionBytes = 1024;
std::optional<PythonLayout> described_python_layout(std::span<const std::byte> runtime);
// The version that a description is of.
std::optional<PythonVersion> described_python_version(std::span<const std::byte> runtime);
// Whether it is a description, and of a build without the GIL.
bool describes_free_threading(std::span<const std::byte> runtime);

}  // namespace stepscope
