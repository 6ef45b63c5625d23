// docs/schema.md says what is: its SQL is the schema's, and each of its queries has an answer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "store/counters.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/trace_writer.h"
#include "tests/source_folder.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

std::string read_doc() {
  std::ostringstream text;
  text << std::ifstream(testing::source_folder() / "docs" / "schema.md").rdbuf();
  return text.str();
}

// The contents of the ```sql blocks.
std::vector<std::string> sql_blocks(const std::string& doc) {
  const std::string open = "```sql\n";
  std::vector<std::string> blocks;
  for (std::size_t at = doc.find(open); at != std::string::npos; at = doc.find(open, at)) {
    at += open.size();
    const std::size_t end = doc.find("```", at);
    blocks.push_back(doc.substr(at, end - at));
    at = end;
  }
  return blocks;
}

class SchemaDoc : public ::testing::Test {
 protected:
  void SetUp() override {
    const testing::SyntheticRun run{.steps = 30,
                                    .shapes = true,
                                    .lost_ops = 3,
                                    .slow_step = 17,
                                    .rank = 0,
                                    .killed_by = 9,
                                    .samples = true,
                                    .device = true};
    testing::make_store(dir_ / "run.db", run);
    Analysis analysis = testing::true_analysis(run);
    analysis.segments = {{ThreadId{1}, SegmentKind::kEvaluation, session_time(100), Duration(50), 1,
                          2, Duration(20)}};
    ModuleTime& module = analysis.modules.emplace_back();
    module.thread = ThreadId{1};
    module.root = module.class_name = "Net";
    module.steps = 29;
    module.calls = 1;
    module.forward = Duration(1000);
    auto writer = TraceWriter::open(dir_ / "run.db");
    ASSERT_OK(writer.status());
    ASSERT_OK((*writer)->replace_analysis(analysis));
    auto database = Database::open(dir_ / "run.db", SQLITE_OPEN_READONLY);
    ASSERT_OK(database.status());
    database_ = *std::move(database);
  }

  std::vector<std::string> column(const std::string& sql) {
    std::vector<std::string> values;
    auto rows = database_.prepare(sql);
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    while (*rows->next()) values.push_back(rows->text(0));
    return values;
  }

  const std::string doc_ = read_doc();
  testing::TempDir dir_;
  Database database_;
};

TEST_F(SchemaDoc, HoldsTheSchemaAsItIs) {
  EXPECT_NE(doc_.find("```sql\n" + std::string(kSchemaSql) + "```\n"), std::string::npos)
      << "copy store/schema.sql into the last block of docs/schema.md";
}

TEST_F(SchemaDoc, EveryQueryHasAnAnswer) {
  int queries = 0;
  for (const std::string& sql : sql_blocks(doc_)) {
    if (sql == kSchemaSql) continue;
    ++queries;
    auto rows = database_.prepare(sql);
    ASSERT_TRUE(rows.ok()) << rows.status().message() << "\n" << sql;
    const Result<bool> row = rows->next();
    ASSERT_TRUE(row.ok()) << row.status().message() << "\n" << sql;
    EXPECT_TRUE(*row) << "no row from\n" << sql;
  }
  EXPECT_GE(queries, 10);
}

TEST_F(SchemaDoc, TellsOfEveryCounter) {
  for (const Counter& counter : known_counters()) {
    EXPECT_NE(doc_.find("`" + std::string(counter.name) + "`"), std::string::npos) << counter.name;
  }
}

TEST_F(SchemaDoc, TellsOfEveryTableViewAndMetadataKey) {
  const std::string prose = doc_.substr(0, doc_.find("```sql\n" + std::string(kSchemaSql)));
  for (const std::string& name :
       column("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
              " UNION ALL SELECT key FROM meta")) {
    EXPECT_NE(prose.find("`" + name + "`"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace stepscope
