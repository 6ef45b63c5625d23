// How fast ops become trace text, without reading the store: with the writer of the export and, as
// a baseline in the same run, built and dumped one by one with nlohmann-json.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/store/testing/synthetic_run.h"
#include "tests/viewer-export/testing/trace_stores.h"
#include "viewer-export/event_writer.h"
#include "viewer-export/gzip_sink.h"
#include "viewer-export/op_tracks.h"
#include "viewer-export/track_map.h"

namespace stepscope {
namespace {

constexpr std::int64_t kOps = 100'000;

class CountingSink final : public ByteSink {
 public:
  Status write(std::string_view bytes) override {
    bytes_ += static_cast<std::int64_t>(bytes.size());
    return {};
  }
  Status finish() override { return {}; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

// A store and its ops in memory, in the order in which the store yields them.
struct Run {
  Run() {
    const Status made = testing::make_large_store(dir / "run.db", kOps);
    if (!made.ok()) {
      std::fprintf(stderr, "%s\n", made.message().c_str());
      std::exit(1);
    }
    reader = testing::open_store(dir / "run.db");
    const Status read = reader->for_each_op([this](const Op& op) {
      ops.push_back(op);
      return true;
    });
    if (!read.ok()) std::exit(1);
  }
  testing::TempDir dir;
  std::unique_ptr<TraceReader> reader;
  std::vector<Op> ops;
};

const Run& run() {
  static const Run run;
  return run;
}

void write_all(ByteSink& sink) {
  TrackMap tracks(run().reader->processes(), run().reader->threads());
  tracks.number_threads();
  EventWriter writer(sink, *run().reader);
  OpTracks ops(*run().reader, tracks, writer);
  writer.begin("");
  for (const Op& op : run().ops) ops.add(op);
  ops.finish();
  benchmark::DoNotOptimize(writer.end(""));
}

void report(benchmark::State& state, std::int64_t bytes) {
  state.SetItemsProcessed(state.iterations() * kOps);
  state.counters["bytes/op"] =
      static_cast<double>(bytes) / static_cast<double>(state.iterations() * kOps);
}

void BM_Writer(benchmark::State& state) {
  CountingSink sink;
  for (auto _ : state) write_all(sink);
  report(state, sink.bytes());
}

void BM_WriterGzip(benchmark::State& state, GzipEngine engine) {
  CountingSink sink;
  for (auto _ : state) {
    const auto gzip = make_gzip_sink(sink, kGzipFast, engine);
    if (gzip == nullptr) return state.SkipWithError("this build is without that compressor");
    write_all(*gzip);
  }
  report(state, sink.bytes());
}

// Writes the same members in the same order, but does not sort slices or draw arrows.
void BM_NlohmannJson(benchmark::State& state) {
  CountingSink sink;
  for (auto _ : state) {
    for (const Op& op : run().ops) {
      nlohmann::ordered_json event = {{"ph", "X"},
                                      {"cat", "cpu_op"},
                                      {"name", run().reader->text(op.name)},
                                      {"pid", 1},
                                      {"tid", static_cast<std::int64_t>(op.thread)},
                                      {"ts", static_cast<double>(to_ns(op.start)) / 1e3},
                                      {"dur", static_cast<double>(to_ns(op.dur)) / 1e3}};
      if (op.sequence >= 0) event["args"]["Sequence number"] = op.sequence;
      benchmark::DoNotOptimize(sink.write(event.dump()));
    }
  }
  report(state, sink.bytes());
}

BENCHMARK(BM_NlohmannJson)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Writer)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WriterGzip, isal, GzipEngine::kIsal)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WriterGzip, zlib, GzipEngine::kZlib)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepscope

BENCHMARK_MAIN();
