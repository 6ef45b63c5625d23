// Bytes as a recording (random_recording.h), analysed and told in text, JSON and HTML. Promise: no
// crash, exact sums, and documents that can be read (check_report.h).
#include <cstdint>
#include <span>

#include "analyzer/analyze.h"
#include "tests/fuzz/check_report.h"
#include "tests/fuzz/random_recording.h"
#include "tests/fuzz/reused_store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  static fuzz::ReusedStore store;
  if (size == 0) return 0;
  fuzz::write_recording(std::span(data + 1, size - 1), store.empty());
  const auto reader = store.read();
  AnalyzeOptions options;
  options.op_samples = data[0] % 4 == 0;
  const auto report = analyze(*reader, options);
  if (fuzz::is_refused(report.status())) return 0;
  fuzz::check_report(*reader, *report);
  return 0;
}
