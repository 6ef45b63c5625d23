// What export and import say of what they wrote.
#include "present/file_summary.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

ImportSummary imported() {
  ImportSummary summary;
  summary.files.resize(1);
  summary.files[0].format = "Kineto";
  summary.counts.ops = 12;
  summary.counts.kernels = 3;
  return summary;
}

TEST(FileSummary, ASizeIsInTheUnitThatFitsIt) {
  ChromeTraceSummary trace;
  trace.ops = 7;
  trace.steps = 2;
  trace.phases = 8;
  EXPECT_EQ(export_summary("t.json", 12'345, trace),
            "t.json: 7 ops, 2 steps, 8 phases, 12.3 kB\n"
            "open it at https://ui.perfetto.dev (it stays on your machine) or chrome://tracing\n");
  EXPECT_TRUE(
      export_summary("pipe", std::nullopt, trace).starts_with("pipe: 7 ops, 2 steps, 8 phases\n"));
}

TEST(FileSummary, AnImportSaysWhatWasLeftOut) {
  ImportSummary summary = imported();
  EXPECT_EQ(import_summary("run.db", summary),
            "run.db: 12 ops, 3 kernels, 0 copies, 0 memsets, 0 API calls (Kineto)\n"
            "next: stepscope analyze run.db\n");
  EXPECT_TRUE(import_summary("my run.db", summary).ends_with("analyze 'my run.db'\n"));
  summary.files.resize(2, summary.files[0]);
  summary.lost = 4;
  summary.python_functions = 5;
  EXPECT_EQ(import_summary("run.db", summary),
            "run.db: 12 ops, 3 kernels, 0 copies, 0 memsets, 0 API calls of 2 ranks (Kineto)\n"
            "4 events were invalid and left out or shortened; to list them: sqlite3 run.db "
            "\"select * from loss\"\n"
            "5 calls of Python functions were left out, because they are not ops\n"
            "next: stepscope analyze run.db\n");
}

TEST(FileSummary, OneOfAKindIsInTheSingular) {
  ImportSummary summary = imported();
  summary.counts = {1, 1, 1, 1, 1, 1, 1, 1};
  summary.lost = 2;
  summary.incomplete = 1;
  summary.python_functions = 1;
  EXPECT_EQ(import_summary("run.db", summary),
            "run.db: 1 op, 1 kernel, 1 copy, 1 memset, 1 API call (Kineto)\n"
            "1 event was invalid and left out or shortened; to list them: sqlite3 run.db "
            "\"select * from loss\"\n"
            "1 event was left out, because only complete events are read (\"ph\": \"X\")\n"
            "1 call of a Python function was left out, because it is not an op\n"
            "next: stepscope analyze run.db\n");
  ChromeTraceSummary trace;
  trace.ops = trace.steps = trace.phases = trace.activities = 1;
  EXPECT_TRUE(export_summary("t.json", std::nullopt, trace)
                  .starts_with("t.json: 1 op, 1 step, 1 phase, 1 device activity\n"));
}

TEST(FileSummary, AnImportSaysWhichEventsItDoesNotRead) {
  ImportSummary summary = imported();
  summary.lost = 3;
  summary.incomplete = 2;
  EXPECT_EQ(import_summary("run.db", summary),
            "run.db: 12 ops, 3 kernels, 0 copies, 0 memsets, 0 API calls (Kineto)\n"
            "1 event was invalid and left out or shortened; to list them: sqlite3 run.db "
            "\"select * from loss\"\n"
            "2 events were left out, because only complete events are read (\"ph\": \"X\")\n"
            "next: stepscope analyze run.db\n");
}

TEST(FileSummary, AnImportOfAnExportNamesTheStore) {
  ImportSummary summary = imported();
  summary.files.back().exported = true;
  EXPECT_NE(import_summary("run.db", summary).find("analyze the store that it came from"),
            std::string::npos);
}

TEST(FileSummary, NoPathMovesATerminal) {
  EXPECT_EQ(import_summary("a\nb.db", imported()).find("a\nb"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
