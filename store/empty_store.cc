#include "store/empty_store.h"

#include "store/schema.h"
#include "store/sqlite.h"

namespace stepscope {
namespace {

// page_size: 64 KiB, the largest; appending splits and links fewer pages.
constexpr char kBeforeSchema[] = "PRAGMA page_size = 65536;";

}  // namespace

Result<std::string> empty_store(const std::filesystem::path& path) {
  Result<Database> database = Database::in_memory(path);
  if (!database.ok()) return database.status();
  const std::string sql = std::string(kBeforeSchema) + "BEGIN;" + kSchemaSql +
                          "INSERT INTO meta VALUES"
                          " ('schema_version', '" +
                          std::to_string(kSchemaVersion) +
                          "'),"
                          " ('stepscope_version', '" STEPSCOPE_VERSION
                          "'),"
                          " ('created_by', 'stepscope " STEPSCOPE_VERSION
                          "'),"
                          " ('state', 'recording');"
                          "PRAGMA application_id = " +
                          std::to_string(kApplicationId) +
                          ";"
                          "PRAGMA user_version = " +
                          std::to_string(kSchemaVersion) +
                          ";"
                          "COMMIT;";
  if (Status status = database->exec(sql.c_str()); !status.ok()) return status;
  return database->image();
}

}  // namespace stepscope
