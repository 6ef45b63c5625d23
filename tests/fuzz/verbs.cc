#include "tests/fuzz/verbs.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>

#include "analyzer/analyze.h"
#include "analyzer/compare/compare.h"
#include "analyzer/live/live_run.h"
#include "analyzer/what_if.h"
#include "present/report_json.h"
#include "present/report_text.h"
#include "present/stored_analysis.h"
#include "present/top_json.h"
#include "present/what_if_answer.h"
#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "viewer-export/chrome_trace.h"
#include "viewer-export/folded.h"
#include "viewer-export/report/report.h"
#include "viewer-export/speedscope.h"

namespace stepscope::testing {
namespace {

namespace fs = std::filesystem;

// Counts what would be written.
class NoSink final : public ByteSink {
 public:
  Status write(std::string_view bytes) override {
    bytes_ += bytes.size();
    return {};
  }
  Status finish() override { return {}; }

 private:
  std::size_t bytes_ = 0;
};

void follow(const fs::path& store) {
  const auto run = LiveRun::open(store);
  if (!run.ok()) return;
  const auto frame = (*run)->refresh();
  if (frame.ok()) static_cast<void>(top_json(**frame));
}

// As stored, where there is an analysis already.
void export_trace(const TraceReader& reader) {
  const auto stored = reader.analysis();
  if (!stored.ok()) return;
  NoSink trace;
  static_cast<void>(write_chrome_trace(reader, *stored, {}, trace).status());
}

void export_stacks(const TraceReader& reader) {
  NoSink stacks;
  static_cast<void>(write_speedscope(reader, {}, stacks).status());
  static_cast<void>(write_folded(reader, {}, stacks).status());
}

void ask_what_if(const TraceReader& reader) {
  WhatIfQuestion question;
  question.ops = {"aten::addmm=2x"};
  question.input = {"prefetched"};
  static_cast<void>(what_if(reader, question).status());
}

// Of a file whose pages are mixed up nobody can say what remains after writing.
bool is_sound(const fs::path& store) {
  auto database = Database::open_untrusted(store, SQLITE_OPEN_READONLY);
  if (!database.ok()) return false;
  const auto found = database->query_text("PRAGMA quick_check(1)");
  return found.ok() && *found == "ok";
}

void write_back(const fs::path& store, const Analysis& analysis) {
  const bool sound = is_sound(store);
  const auto writer = TraceWriter::open(store);
  if (!writer.ok()) return;
  if (!(*writer)->replace_analysis(analysis).ok() || !(*writer)->finish().ok()) return;
  if (!sound) return;
  const auto reader = TraceReader::open(store);
  if (!reader.ok()) std::fprintf(stderr, "%s\n", reader.status().message().c_str());
  require(reader.ok(), "a store that could be analysed can be opened again");
  require((*reader)->analysis().ok(), "what analyze writes can be read");
}

}  // namespace

void run_verbs(const fs::path& store, unsigned which) {
  const bool more = (which & 4) != 0;
  if ((which & 1) != 0) follow(store);
  Analysis analysis;
  {
    const auto reader = TraceReader::open(store);
    if (!reader.ok()) return;
    export_trace(**reader);
    export_stacks(**reader);
    if ((which & 2) != 0) ask_what_if(**reader);
    AnalyzeOptions options;
    options.op_samples = more;
    const auto report = analyze(**reader, options);
    if (!report.ok()) return;
    const std::string document = json_report(*report, kPageTop);
    static_cast<void>(text_report(*report, {}));
    if (!more) return;
    if (!report->loops.empty()) static_cast<void>(compare(*report, *report));
    analysis = to_analysis(*report);
    NoSink page;
    static_cast<void>(write_report(**reader, analysis, {document, "", std::nullopt}, page));
  }
  write_back(store, analysis);
}

fs::path memory_file(const std::string& name) {
  const fs::path path =
      fs::path("/dev/shm") / ("stepscope-fuzz-" + std::to_string(::getpid()) + "-" + name);
  for (const char* suffix : {"", "-wal", "-shm", "-journal", ".old"}) {
    std::error_code ignored;
    fs::remove(fs::path(path.native() + suffix), ignored);
  }
  return path;
}

std::vector<std::uint8_t> read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_bytes(const fs::path& path, const std::uint8_t* data, std::size_t size) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

}  // namespace stepscope::testing
