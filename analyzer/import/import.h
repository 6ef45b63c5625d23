// Other profilers' traces as a store: `stepscope import`. docs/import.md.
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
  bool partial = false;    // of a broken file, keep what could be read
  std::string steps_nvtx;  // a shell pattern: NVTX ranges of such names are steps (Nsight Systems)
  // Told how far it is: bytes of all files together, read and to be read (0: not known); once they
  // are equal, the events are being put into the store. False: give up.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
};

struct ImportedFile {
  std::filesystem::path path;
  std::string format;      // "PyTorch profiler, 2021", …
  std::int64_t rank = -1;  // -1: none
  std::string broken;      // what is wrong with it, where it was kept in part; else empty
};

struct ImportSummary {
  std::vector<ImportedFile> files;
  ImportCounts counts;
  std::int64_t lost = 0;              // events that made no sense
  std::int64_t python_functions = 0;  // left out
};

// Whether a file looks like a trace that can be imported rather than like a store: JSON, gzip, or a
// SQLite database of Nsight Systems. What cannot be read is no trace.
bool is_trace(const std::filesystem::path& path);

// Imports the files, the ranks of one run, into a new store at `output`. An earlier store there is
// kept as OUTPUT.old; until all is well nothing happens to it, and after an error nothing is left
// behind. Errors: kBadInput (broken, not a trace, no events; with the file and the offset),
// kNotFound, kIo.
Result<ImportSummary> import_traces(const std::vector<std::filesystem::path>& files,
                                    const std::filesystem::path& output,
                                    const ImportOptions& options);

}  // namespace stepscope
