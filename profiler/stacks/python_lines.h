// Finds the source line of an instruction of a CPython code object. The formats are CPython's:
// Objects/locations.md (3.11 and later) and Objects/lnotab_notes.txt (3.10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stepscope {

// The line of the instruction at `offset`, in bytes from the first one, of a code object with this
// co_linetable and co_firstlineno. Nothing if the instruction has no line, or if the table, which
// may be torn, does not reach it.
std::optional<int> python_line(std::span<const std::byte> table, int first_line,
                               std::int64_t offset);
// The same for CPython 3.10, whose table has another format.
std::optional<int> python_line_310(std::span<const std::byte> table, int first_line,
                                   std::int64_t offset);

}  // namespace stepscope
