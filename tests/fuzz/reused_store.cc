#include "tests/fuzz/reused_store.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace stepscope::fuzz {
namespace {

namespace fs = std::filesystem;

// Memory where there is some: nothing of it need reach a disk.
fs::path new_folder() {
  const fs::path shared = "/dev/shm";
  const fs::path parent = fs::is_directory(shared) ? shared : fs::temp_directory_path();
  std::string name = (parent / "stepscope-fuzz-XXXXXX").string();
  require(mkdtemp(name.data()) != nullptr, "a folder can be made");
  return name;
}

// All but the names, which the writer keeps numbers of.
constexpr char kForget[] =
    "DELETE FROM process; DELETE FROM thread; DELETE FROM op; DELETE FROM op_shapes;"
    "DELETE FROM phase; DELETE FROM loss; DELETE FROM process_end; DELETE FROM unfinished_op;"
    "DELETE FROM sample; DELETE FROM thread_stretch; DELETE FROM module_call; DELETE FROM "
    "watched_thread;"
    "DELETE FROM thread_reading; DELETE FROM frame; DELETE FROM stack_sample; DELETE FROM "
    "native_sample; DELETE FROM device; "
    "DELETE FROM stream; DELETE FROM api_call;"
    "DELETE FROM kernel; DELETE FROM copy; DELETE FROM memset; DELETE FROM sync;"
    "DELETE FROM meta WHERE key IN ('window', 'end_ns', 'leaf_op_overhead_ns');";

}  // namespace

bool is_refused(const Status& status) {
  if (status.ok()) return false;
  if (status.kind() != ErrorKind::kBadInput) std::fprintf(stderr, "%s\n", status.message().c_str());
  require(status.kind() == ErrorKind::kBadInput,
          "a recording is analysed, or refused as bad input");
  return true;
}

ReusedStore::ReusedStore() : folder_(new_folder()) {
  const fs::path path = folder_ / "run.db";
  auto made = TraceWriter::create(path);
  require(made.ok(), "a store can be made");
  writer_ = *std::move(made);
  require(sqlite3_open(path.c_str(), &cleaner_) == SQLITE_OK, "it can be opened twice");
  require(
      sqlite3_exec(cleaner_, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr) == SQLITE_OK,
      "nothing waits for a disk");
}

ReusedStore::~ReusedStore() {
  sqlite3_close(cleaner_);
  writer_.reset();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

TraceWriter& ReusedStore::empty() {
  require(writer_->flush().ok(), "what was written can be committed");
  const std::string sql = std::string("BEGIN IMMEDIATE;") + kForget + "COMMIT";
  require(sqlite3_exec(cleaner_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK,
          "the store can be emptied");
  return *writer_;
}

std::unique_ptr<TraceReader> ReusedStore::read() {
  require(writer_->flush().ok(), "what was written can be committed");
  auto reader = TraceReader::open(folder_ / "run.db");
  if (!reader.ok()) std::fprintf(stderr, "%s\n", reader.status().message().c_str());
  require(reader.ok(), "what a writer wrote can be read");
  return *std::move(reader);
}

}  // namespace stepscope::fuzz
