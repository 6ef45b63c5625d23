// Arbitrary bytes as a trace of the PyTorch profiler, plain or gzip, from the file to the last
// verb. Promise: no crash, nothing that runs forever, and what was imported can be read.
// kineto_fuzzer.cc covers the importer alone and is faster.
#include <cstdint>

#include "analyzer/import/import.h"
#include "store/trace_reader.h"
#include "tests/fuzz/verbs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  static const auto path = testing::memory_file("trace.json");
  const auto store = testing::memory_file("trace.db");
  testing::write_bytes(path, data, size);
  ImportOptions options;
  options.partial = true;
  if (import_traces({path}, store, options).ok()) {
    testing::require(TraceReader::open(store).ok(), "what was imported can be read");
    testing::run_verbs(store, static_cast<unsigned>(size));
  }
  static_cast<void>(testing::memory_file("trace.db"));  // removes it
  return 0;
}
