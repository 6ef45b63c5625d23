#include "viewer-export/trace_file.h"

#include <memory>

#include "viewer-export/output_file.h"

namespace stepscope {

namespace {

// The output names itself in its errors.
Result<ChromeTraceSummary> naming(const std::string& store, Result<ChromeTraceSummary> written) {
  if (written.ok() || written.status().kind() == ErrorKind::kIo) return written;
  return Status::error(written.status().kind(), store + ": " + written.status().message());
}

}  // namespace

Result<ChromeTraceSummary> write_trace_file(const TraceReader& reader, const std::string& store,
                                            const Analysis& analysis,
                                            const ChromeTraceOptions& options,
                                            const TraceFile& file) {
  const auto output = OutputFile::create(file.output);
  if (!output.ok()) return output.status();
  ByteSink* sink = output->get();
  std::unique_ptr<ByteSink> gzip;
  if (file.gzip || file.output.extension() == ".gz") {
    gzip = make_gzip_sink(**output, file.level);
    sink = gzip.get();
  }
  return naming(store, write_chrome_trace(reader, analysis, options, *sink));
}

}  // namespace stepscope
