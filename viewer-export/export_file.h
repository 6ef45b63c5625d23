// Exports a store as a Chrome trace file, compressed where that is asked for.
#pragma once

#include <filesystem>
#include <string>

#include "viewer-export/chrome_trace.h"
#include "viewer-export/gzip_sink.h"

namespace stepscope {

struct TraceFile {
  std::filesystem::path output;  // "-" is standard output
  bool gzip = false;             // compress it even if its name does not end in .gz
  int level = kGzipFast;         // to kGzipSmall
};

// As write_chrome_trace(), to a file that replaces an earlier one only once it is complete.
// `store`: what errors call the recording. Errors: those of OutputFile::create() and of
// write_chrome_trace().
Result<ChromeTraceSummary> write_trace_file(const TraceReader& reader, const std::string& store,
                                            const Analysis& analysis,
                                            const ChromeTraceOptions& options,
                                            const TraceFile& file);

}  // namespace stepscope
