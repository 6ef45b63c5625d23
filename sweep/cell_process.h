// One run of one setting of a sweep: a fresh process under the recorder, watched to its end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/doctor/build_hooks.h"
#include "profiler/launch/child.h"
#include "store/status.h"

namespace stepscope {

struct CellRequest {
  std::vector<std::string> words;  // the program first
  std::filesystem::path store;     // where it is recorded to
  bool phases_only = true;
  double timeout_s = 0;
  std::int64_t memory_limit = 0;  // bytes of address space; 0: none
  std::function<void()> tick;     // a few times a second, while it runs
};

struct CellEnd {
  ChildEnd end;
  bool timed_out = false;
  int stopped_by = 0;  // a signal that was sent to us; 0: it was not stopped
  std::int64_t started_unix_ns = 0;
  std::int64_t wall_ns = 0;
  std::string error_tail;            // the end of its standard error, at most kTailBytes
  std::vector<std::string> notices;  // the recorder's, for example why a process is not recorded
  std::optional<std::int64_t> peak_address_bytes;
  std::optional<std::int64_t> available_bytes;  // before it started
};

inline constexpr std::size_t kTailBytes = 4000;

// Discards the program's standard output. Errors: the program cannot be started (kNotFound,
// kBadInput), the recording cannot be written (kIo: then nothing is known about the run).
Result<CellEnd> run_cell(const CellRequest& request, const Installation& installed);

}  // namespace stepscope
