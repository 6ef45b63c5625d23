// How fast ops become committed rows, how large rows are, and how fast they are read back.
//
//   build/release/bench/store/bench_store
//
// The ops are made to look like those of a training loop: 60 names, 1 to 200 µs long, over one
// hour, 60 % leaves, half of them with a sequence number, two threads. Each benchmark has a
// baseline in the same run: the same rows through a prepared INSERT with bound values.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

constexpr std::size_t kOps = 2'000'000;
constexpr std::size_t kOpsPerStep = 240;
constexpr std::size_t kBatch = 16'384;        // as from one drain of the rings
constexpr std::size_t kBatchesPerFlush = 32;  // half a million ops: a flush every 100 ms at 5 M/s
constexpr std::int64_t kRunNs = 3'600'000'000'000;  // an hour

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::abort();
}

// A step that a training loop repeats: each op without its times.
std::vector<Op> make_step(std::mt19937_64& random) {
  const auto up_to = [&](std::uint64_t n) { return random() % n; };
  std::vector<Op> step(kOpsPerStep);
  for (std::size_t i = 0; i < kOpsPerStep; ++i) {
    const bool backward = i >= kOpsPerStep / 2;  // on the autograd thread
    const bool leaf = up_to(10) < 6;
    Op& op = step[i];
    op.thread = ThreadId{backward ? 2u : 1u};
    op.name = StringId{1 + static_cast<std::uint32_t>(up_to(60))};
    op.dur = Duration(1'000 + static_cast<std::int64_t>(up_to(199'000)));
    op.self = leaf ? op.dur : op.dur / 4;
    op.sequence = static_cast<std::int64_t>(up_to(2)) - 1;
    if (op.sequence == 0 && backward) {
      op.scope = OpScope::kBackwardFunction;
      op.forward_thread = 1;
    }
    op.phase = backward ? PhaseKind::kBackward : PhaseKind::kForward;
    op.depth = static_cast<std::uint8_t>(leaf ? 1 + up_to(4) : up_to(3));
  }
  return step;
}

const std::vector<Op>& ops() {
  static const std::vector<Op> made = [] {
    std::mt19937_64 random(1);
    const std::vector<Op> step = make_step(random);
    std::vector<Op> all;
    for (std::size_t i = 0; i < kOps; ++i) {
      Op op = step[i % kOpsPerStep];
      const bool leaf = op.self == op.dur;
      op.start = session_time(static_cast<std::int64_t>(i) * (kRunNs / std::int64_t{kOps}));
      op.dur += op.dur * static_cast<std::int64_t>(random() % 21) / 100;  // up to a fifth more
      if (leaf) op.self = op.dur;
      if (op.sequence == 0) op.sequence = static_cast<std::int64_t>(i / 2);
      all.push_back(op);
    }
    return all;
  }();
  return made;
}

std::span<const Op> batch_at(std::size_t begin) {
  return std::span(ops()).subspan(begin, std::min(kBatch, kOps - begin));
}

void report(benchmark::State& state, const fs::path& path) {
  const auto events = static_cast<double>(state.iterations()) * static_cast<double>(kOps);
  state.counters["events/s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
  state.counters["bytes/event"] =
      static_cast<double>(fs::file_size(path)) / static_cast<double>(kOps);
}

std::unique_ptr<TraceWriter> new_store(const fs::path& path) {
  auto writer = TraceWriter::create(path);
  must(writer.status());
  return *std::move(writer);
}

void write_all(TraceWriter& writer) {
  std::size_t batches = 0;
  for (std::size_t begin = 0; begin < kOps; begin += kBatch) {
    must(writer.add(batch_at(begin)));
    if (++batches % kBatchesPerFlush == 0) must(writer.flush());
  }
  must(writer.flush());
}

// From spans of ops to committed rows.
void BM_AddOps(benchmark::State& state) {
  const TempDir dir;
  ops();
  for (auto _ : state) {
    state.PauseTiming();
    fs::remove(dir / "run.db");
    auto writer = new_store(dir / "run.db");
    state.ResumeTiming();
    write_all(*writer);
    state.PauseTiming();
    must(writer->finish());
    state.ResumeTiming();
  }
  report(state, dir / "run.db");
}

// The same with the log merged and everything on disk: the whole cost of a store.
void BM_AddOpsAndFinish(benchmark::State& state) {
  const TempDir dir;
  ops();
  for (auto _ : state) {
    state.PauseTiming();
    fs::remove(dir / "run.db");
    auto writer = new_store(dir / "run.db");
    state.ResumeTiming();
    write_all(*writer);
    must(writer->finish());
  }
  report(state, dir / "run.db");
}

std::optional<std::int64_t> unless(std::int64_t value, std::int64_t none) {
  return value == none ? std::nullopt : std::optional(value);
}

void insert_row(Statement& insert, const Op& op) {
  must(insert.run(static_cast<std::int64_t>(op.thread), static_cast<std::int64_t>(op.name),
                  to_ns(op.start), to_ns(op.dur), unless(to_ns(op.self), to_ns(op.dur)),
                  static_cast<std::int64_t>(op.scope), static_cast<std::int64_t>(op.phase),
                  std::int64_t{op.depth}, unless(op.sequence, -1), unless(op.forward_thread, 0)));
}

void insert_all(Database& database, Statement& insert) {
  std::size_t row = 0;
  must(database.exec("BEGIN"));
  for (const Op& op : ops()) {
    insert_row(insert, op);
    if (++row % (kBatch * kBatchesPerFlush) == 0) must(database.exec("COMMIT; BEGIN"));
  }
  must(database.exec("COMMIT"));
}

// Baseline of BM_AddOps: row by row into the same tables, with the same settings and commits.
void BM_RowAtATime(benchmark::State& state) {
  const TempDir dir;
  ops();
  for (auto _ : state) {
    state.PauseTiming();
    fs::remove(dir / "run.db");
    must(new_store(dir / "run.db")->finish());
    auto database = Database::open(dir / "run.db", SQLITE_OPEN_READWRITE);
    must(database.status());
    must(
        database->exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                       "PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 512"));
    auto insert =
        database->prepare("INSERT INTO op VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, NULL)");
    must(insert.status());
    state.ResumeTiming();
    insert_all(*database, *insert);
    state.PauseTiming();
    *insert = Statement();
    *database = Database();
    state.ResumeTiming();
  }
  report(state, dir / "run.db");
}

void BM_ForEachOp(benchmark::State& state) {
  const TempDir dir;
  {
    auto writer = new_store(dir / "run.db");
    write_all(*writer);
    must(writer->finish());
  }
  const auto reader = testing::open_store(dir / "run.db");
  std::int64_t sum = 0;
  for (auto _ : state) {
    must(reader->for_each_op([&](const Op& op) {
      sum += to_ns(op.self);
      return true;
    }));
  }
  benchmark::DoNotOptimize(sum);
  report(state, dir / "run.db");
}

// A view over all ops, as in a user's query.
void BM_View(benchmark::State& state, const char* sql) {
  const TempDir dir;
  {
    auto writer = new_store(dir / "run.db");
    for (int i = 1; i <= 60; ++i) static_cast<void>(writer->intern("aten::op" + std::to_string(i)));
    write_all(*writer);
    must(writer->finish());
  }
  auto database = Database::open(dir / "run.db", SQLITE_OPEN_READONLY);
  must(database.status());
  for (auto _ : state) benchmark::DoNotOptimize(*database->query_int(sql));
  report(state, dir / "run.db");
}

BENCHMARK(BM_RowAtATime)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AddOps)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AddOpsAndFinish)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ForEachOp)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_View, op_stats, "SELECT sum(self_ns) FROM op_stats")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_View, timeline,
                  "SELECT count(*) FROM timeline WHERE start_ns BETWEEN 1000000000 AND 2000000000"
                  " AND name LIKE 'aten::%'")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepscope

BENCHMARK_MAIN();
