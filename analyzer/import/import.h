// Imports traces of other profilers into a store: `stepscope import`. docs/import.md.
//
// Thread safety: none. Memory: does not grow with the length of the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/import/run_builder.h"
#include "store/status.h"

namespace stepscope {

struct ImportOptions {
  bool partial = false;    // keep the readable part of a damaged file
  std::string steps_nvtx;  // a shell pattern: NVTX ranges of such names are steps (Nsight Systems)
  // Reports progress: the bytes read and the total, over all files (0: unknown); once they are
  // equal, the events are being written to the store. Return false to cancel.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
};

struct ImportedFile {
  std::filesystem::path path;
  std::string format;      // "PyTorch profiler, 2021", …
  std::int64_t rank = -1;  // -1: none
  std::string broken;      // what is wrong with it, if it was kept in part; else empty
  bool exported = false;   // by Stepscope, from a store that says more
};

struct ImportSummary {
  std::vector<ImportedFile> files;
  ImportCounts counts;
  std::int64_t lost = 0;              // in the table loss
  std::int64_t incomplete = 0;        // of these, events that are not complete: their ph is not X
  std::int64_t python_functions = 0;  // left out
};

// Whether a file looks like a trace that can be imported rather than like a store: JSON, gzip, or a
// SQLite database of Nsight Systems. An unreadable file is not a trace.
bool is_trace(const std::filesystem::path& path);

// Imports the files, the ranks of one run, into a new store at `output`. An earlier store there is
// kept as OUTPUT.old; it stays in place until the import succeeds, and a failed import leaves
// nothing behind. Errors: kBadInput (damaged, not a trace, no events; with the file and the
// offset), kNotFound, kIo.
Result<ImportSummary> import_traces(const std::vector<std::filesystem::path>& files,
                                    const std::filesystem::path& output,
                                    const ImportOptions& options);

}  // namespace stepscope
