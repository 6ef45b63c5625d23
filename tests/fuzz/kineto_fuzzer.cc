// Feeds arbitrary bytes to the importer as a trace of the PyTorch profiler. Promise: no crash, each
// whole event before a broken place is handed out once, and what is kept can be stored.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "analyzer/import/json_scan.h"
#include "analyzer/import/kineto.h"
#include "analyzer/import/op_nester.h"
#include "analyzer/import/run_builder.h"
#include "store/trace_writer.h"
#include "tests/analyzer/text_source.h"
#include "tests/fuzz/require.h"

namespace {

using namespace stepscope;

using stepscope::fuzz::require;

// One store for all inputs, which only takes their names: making one takes longer than all the
// rest.
TraceWriter& writer() {
  static const std::unique_ptr<TraceWriter> store = [] {
    const auto path =
        std::filesystem::temp_directory_path() / ("fuzz-" + std::to_string(std::rand()) + ".db");
    Result<std::unique_ptr<TraceWriter>> made = TraceWriter::create(path);
    require(made.ok(), "a store can be made");
    std::filesystem::remove(path);
    return *std::move(made);
  }();
  return *store;
}

// How many events the cutter hands out, and what it says in the end.
std::string cut(const std::string& text, std::size_t piece, std::size_t batch) {
  testing::TextSource source(text, piece);
  TraceCutter cutter(source, "fuzz", batch);
  TraceEventParser parser;
  std::int64_t events = 0;
  while (true) {
    const Result<TracePiece> next = cutter.next();
    if (!next.ok()) return std::to_string(events) + next.status().message();
    if (next->kind == TracePiece::Kind::kEnd) return std::to_string(events);
    if (next->kind == TracePiece::Kind::kMember) continue;
    const std::int64_t broken = parser.parse(*next, [&events](const TraceEvent&) { ++events; });
    require(broken < static_cast<std::int64_t>(next->text.size()), "an offset lies in the batch");
    if (broken >= 0) return std::to_string(events) + " broken";
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  require(end_of_object(text, 0) == end_of_object_bytewise(text, 0), "both scans say the same");
  static_cast<void>(cut(text, 11, 64));

  RunBuilder run(writer(), std::filesystem::temp_directory_path());
  KinetoReader reader(run, "fuzz");
  testing::TextSource source(text, 4096);
  static_cast<void>(reader.read(source, [] { return true; }));
  require(reader.finish(-1).ok(), "what was read can be kept");
  require(run.empty() || run.length() >= Duration(0), "a run does not end before it begins");
  return 0;
}
