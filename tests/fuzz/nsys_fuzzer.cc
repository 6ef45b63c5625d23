// A good export of Nsight Systems with anything done to it, imported and given to each verb.
// Promise: no crash, nothing without end, and what was imported can be read.
#include <cstdint>

#include "analyzer/import/import.h"
#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "tests/analyzer/nsys_report.h"
#include "tests/fuzz/mutate_database.h"
#include "tests/fuzz/verbs.h"

namespace {

using namespace stepscope;

std::vector<std::uint8_t> make_base() {
  const auto path = testing::memory_file("base.sqlite");
  auto database = Database::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  testing::require(database.ok(), "a file can be made");
  const std::string sql =
      testing::nsys_report_sql() + testing::with_global_ids(testing::kNsysGraph);
  testing::require(database->exec(("PRAGMA page_size = 1024;" + sql).c_str()).ok(),
                   "the export can be made");
  *database = Database();
  std::vector<std::uint8_t> bytes = testing::read_bytes(path);
  std::filesystem::remove(path);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto base = make_base();
  static const auto path = testing::memory_file("nsys.sqlite");
  const auto store = testing::memory_file("nsys.db");
  testing::write_mutated(base, data, size, path);
  ImportOptions options;
  options.partial = size % 2 == 0;
  options.steps_nvtx = "step *";
  if (import_traces({path}, store, options).ok()) {
    testing::require(TraceReader::open(store).ok(), "what was imported can be read");
    testing::run_verbs(store, size > 0 ? data[0] >> 1 : 0);
  }
  static_cast<void>(testing::memory_file("nsys.db"));  // removes it
  return 0;
}
