// A good store with anything done to it, given to each verb. Promise: no crash, nothing without
// end, and what analyze writes can be read.
#include <cstdint>

#include "store/sqlite.h"
#include "tests/fuzz/mutate_database.h"
#include "tests/fuzz/verbs.h"
#include "tests/store/testing/synthetic_run.h"

namespace {

using namespace stepscope;

// Small pages: a change of a random byte is to hit something.
std::vector<std::uint8_t> make_base() {
  const auto path = testing::memory_file("base.db");
  testing::make_store(path, {.steps = 3, .killed_by = 9, .samples = true, .device = true},
                      /*analysed=*/true);
  {
    auto database = Database::open(path, SQLITE_OPEN_READWRITE);
    testing::require(database.ok() && database->exec("PRAGMA page_size = 2048; VACUUM").ok(),
                     "the store can be made smaller");
  }
  std::vector<std::uint8_t> bytes = testing::read_bytes(path);
  std::filesystem::remove(path);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto base = make_base();
  static const auto path = testing::memory_file("store.db");
  testing::write_mutated(base, data, size, path);
  testing::run_verbs(path, size > 0 ? data[0] >> 1 : 0);
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(path.native() + suffix), ignored);
  }
  return 0;
}
