// Bytes as a recording (random_recording.h), drawn as a trace. Promise: no crash, and a trace that
// every viewer draws right (check_trace.h).
#include <cstdint>
#include <span>

#include "analyzer/analyze.h"
#include "present/stored_analysis.h"
#include "tests/fuzz/check_trace.h"
#include "tests/fuzz/random_recording.h"
#include "tests/fuzz/reused_store.h"
#include "viewer-export/chrome_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  static fuzz::ReusedStore store;
  if (size == 0) return 0;
  fuzz::write_recording(std::span(data + 1, size - 1), store.empty());
  const auto reader = store.read();
  const auto report = analyze(*reader);
  if (fuzz::is_refused(report.status())) return 0;
  ChromeTraceOptions options;
  if (data[0] % 4 == 0) options.steps = StepRange{1, 1 + data[0] / 16};
  StringSink sink;
  const auto summary = write_chrome_trace(*reader, to_analysis(*report), options, sink);
  if (summary.ok()) fuzz::check_trace(sink.text());
  return 0;
}
