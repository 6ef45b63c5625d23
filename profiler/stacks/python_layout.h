// The memory layout of a running CPython.
//
// From 3.13 on an interpreter describes itself (_Py_DebugOffsets at the beginning of _PyRuntime).
// The structures of 3.10 to 3.12 are fixed for each minor version; their offsets are those of
// offsetof() with its headers on x86-64 and arm64 Linux, for a build with the GIL.
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

// Offsets in bytes, each in the structure that the prefix names.
struct PythonLayout {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t runtime_interpreters = 0;  // the first PyInterpreterState*
  std::uint32_t interpreter_next = 0;
  std::uint32_t interpreter_threads = 0;  // the first PyThreadState*
  std::uint32_t thread_next = 0;
  std::uint32_t thread_tid = 0;          // the system's id; kNone: only its pthread_t is known
  std::uint32_t thread_pthread = kNone;  // the pthread_t
  // Where the pointer to the innermost frame is: in the thread state, or in the structure that it
  // points to.
  std::uint32_t thread_frame = 0;
  std::uint32_t cframe_frame = kNone;  // kNone: thread_frame points to the frame

  std::uint32_t frame_bytes = 0;  // how much of a frame is read
  std::uint32_t frame_code = 0;
  std::uint32_t frame_previous = 0;
  std::uint32_t frame_instruction = 0;  // a pointer into the code; in 3.10 an index
  std::uint32_t frame_owner = kNone;    // kNone: every frame runs Python code

  std::uint32_t code_filename = 0;
  std::uint32_t code_name = 0;  // the qualified name, if there is one
  std::uint32_t code_first_line = 0;
  std::uint32_t code_line_table = 0;
  std::uint32_t code_instructions = kNone;  // kNone: 3.10, whose frames have an index

  std::uint32_t text_state = 0;   // of a str
  std::uint32_t text_length = 0;  // in characters
  std::uint32_t ascii_bytes = 0;  // before the text of an ASCII str
  std::uint32_t text_bytes = 0;   // before the text of any other str
  std::uint32_t bytes_size = 0;   // of a bytes object
  std::uint32_t bytes_text = 0;
};

// The layout of 3.10 to 3.12. Nothing for other versions.
std::optional<PythonLayout> fixed_python_layout(PythonVersion version);

// The layout of 3.13 and later, from the bytes at _PyRuntime. Nothing if they are no description,
// or the description of an unknown version or of a build without the GIL, or if it contradicts
// itself.
inline constexpr std::size_t kPythonDescriptionBytes = 1024;
std::optional<PythonLayout> described_python_layout(std::span<const std::byte> runtime);
// The version in a description.
std::optional<PythonVersion> described_python_version(std::span<const std::byte> runtime);
// Whether the bytes are the description of a build without the GIL.
bool describes_free_threading(std::span<const std::byte> runtime);

}  // namespace stepscope
