// An open store with its small tables in memory, shared by TraceReader and TraceTail. Internal to
// store/.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/op_scan.h"
#include "store/row_check.h"
#include "store/sqlite.h"
#include "store/status.h"
#include "store/store_file.h"
#include "store/trace_reader.h"

namespace stepscope {

class StoreTables {
 public:
  // Errors: those of TraceReader::open(). Nothing is loaded yet, and no transaction is open.
  static Result<std::unique_ptr<StoreTables>> open(const std::filesystem::path& path);
  StoreTables(const StoreTables&) = delete;
  StoreTables& operator=(const StoreTables&) = delete;

  // Reads the strings that were added since the last call, and all of the other tables. Errors:
  // kBadInput if they are invalid or exceed a limit (limits.h, row_check.h).
  Status load();
  // As of the last load().
  [[nodiscard]] const KnownIds& known() const { return known_; }

  // Ids count from 1 without gaps. kBadInput if the last id is more than the file has room for.
  Result<std::int64_t> op_count();

  [[nodiscard]] bool being_recorded() const { return file.locked(StoreLock::kRecording); }
  [[nodiscard]] std::optional<std::string> meta(std::string_view key);
  [[nodiscard]] std::int64_t meta_int(std::string_view key, std::int64_t otherwise);
  [[nodiscard]] std::string_view text(StringId id) const;

  StoreFile file;  // opened before and closed after SQLite's connection: see StoreFile
  OpScanner ops;   // outlives the connection, which points to it
  Database database;
  std::vector<std::string> strings;  // [id - 1]
  std::vector<StoredProcess> processes;
  std::vector<StoredThread> threads;
  std::vector<StoredDevice> devices;
  std::vector<StoredStream> streams;

 private:
  StoreTables(StoreFile store_file, Database opened)
      : file(std::move(store_file)), database(std::move(opened)) {}
  Status check_facts();

  KnownIds known_;
};

// From the columns thread_id, kind, name_id, start_ns, dur_ns, cpu_ns.
Phase phase_of(const Statement& row, RowCheck& check);
// At most `most` phases after the id `after` (0: from the first), in the order of recording.
Status scan_phases(Database& database, const KnownIds& known, std::int64_t after, std::int64_t most,
                   const std::function<void(const Phase&)>& visit);
Result<std::vector<Loss>> read_losses(Database& database, const KnownIds& known);

}  // namespace stepscope
