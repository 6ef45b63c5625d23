// What the page Code of a report is made of: samples as a tree, and excerpts of source.
#include "viewer-export/report/code_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"
#include "tests/viewer-export/testing/code_store.h"
#include "viewer-export/report/loop_moments.h"
#include "viewer-export/report/report.h"
#include "viewer-export/report/source_excerpts.h"
#include "viewer-export/report/stack_tree.h"

namespace stepscope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kSteps = CodeRun::kRun.steps;

// The lines 1, 2, … of a file.
std::filesystem::path write_lines(const std::filesystem::path& path, int lines) {
  std::ofstream file(path);
  for (int i = 1; i <= lines; ++i) file << "line " << i << "\n";
  return path;
}

class CodeSamplesTest : public ::testing::Test {
 protected:
  // The code of the run in `store`, with the names in it.
  Json code_of(const std::filesystem::path& store) {
    const auto reader = open_store(store);
    Analysis analysis = *reader->analysis();
    for (Step& step : analysis.steps) step.kinds = {{"input-bound", 1, DeviceId::kNone}};
    const auto phases = reader->phases();
    EXPECT_TRUE(phases.ok());
    const auto loops = report_loops(*reader, analysis);
    ReportNames names(*reader);
    auto code = code_samples_json(*reader, analysis, loops, *phases, names);
    EXPECT_TRUE(code.ok());
    names_ = names.json();
    return *std::move(code);
  }

  [[nodiscard]] std::string name(const Json& number) const {
    return names_[number.get<std::size_t>()].get<std::string>();
  }

  const TempDir dir_;
  const std::filesystem::path store_ = dir_ / "run.db";
  Json names_;
};

TEST_F(CodeSamplesTest, NobodyLookedMeansNoCode) {
  make_store(store_, SyntheticRun{.steps = 3}, true);
  EXPECT_TRUE(code_of(store_).is_null());
}

TEST_F(CodeSamplesTest, CountsEachThreadByItsMomentAndState) {
  ASSERT_OK(make_code_store(store_, dir_.path()));
  const Json code = code_of(store_);
  std::map<std::tuple<std::string, std::string, bool>, std::int64_t> counts;
  for (const Json& group : code["groups"]) {
    const Json& thread = code["threads"][group["thread"].get<std::size_t>()];
    for (const Json& samples : group["samples"])
      counts[{name(thread["name"]), group["moment"], group["blocked"]}] +=
          samples.get<std::int64_t>();
  }
  const decltype(counts) wanted = {
      {{"odd </script>", "not_awaited", false}, kSteps * CodeRun::kHostile},
      {{"pt_data_worker", "awaited", false}, kSteps * CodeRun::kDecode},
      {{"pt_data_worker", "awaited", true}, kSteps * CodeRun::kReadFile},
      {{"pt_data_worker", "not_awaited", true}, kSteps},
      {{"train", "backward", false}, kSteps * CodeRun::kBackward},
      {{"train", "forward", false}, kSteps * CodeRun::kForward},
      {{"train", "input", true}, kSteps * CodeRun::kInput},
      {{"train", "optimizer", false}, kSteps * CodeRun::kOptimizer},
  };
  EXPECT_EQ(counts, wanted);
  EXPECT_EQ(code["threads"][0]["loop"], true);
  EXPECT_EQ(code["threads"][1]["loop"], false);
}

// What forked the worker is not its own; what a line was blocked in is the innermost frame.
TEST_F(CodeSamplesTest, AWorkerBeginsWhereItsProcessDoes) {
  ASSERT_OK(make_code_store(store_, dir_.path()));
  const Json code = code_of(store_);
  const Json& frames = code["frames"];
  for (const Json& group : code["groups"]) {
    if (group["moment"] != "awaited" || !group["blocked"].get<bool>()) continue;
    ASSERT_EQ(group["frame"].size(), 1U);
    std::vector<std::string> path;
    for (auto at = group["frame"][0].get<std::int64_t>(); at >= 0;) {
      const auto index = static_cast<std::size_t>(at);
      path.push_back(name(frames["function"][index]));
      const auto caller = frames["caller"][index].get<std::int64_t>();
      EXPECT_LT(caller, at);
      at = caller;
    }
    EXPECT_THAT(path, ElementsAre("sleep", "read_file", "Data.__getitem__", "_worker_loop",
                                  "BaseProcess._bootstrap"));
    const auto innermost = group["frame"][0].get<std::size_t>();
    EXPECT_EQ(frames["file"][innermost], -1);
  }
}

TEST_F(CodeSamplesTest, ShowsTheSourceThatIsThere) {
  write_lines(dir_ / "train.py", 30);
  ASSERT_OK(make_code_store(store_, dir_.path()));
  const Json sources = code_of(store_)["sources"];
  ASSERT_EQ(sources.size(), 1U);  // not of the libraries, which are not there
  EXPECT_THAT(name(sources[0]["file"]), EndsWith("/train.py"));
  EXPECT_EQ(sources[0]["first"], CodeRun::kDecodeLine - 3);
  EXPECT_EQ(name(sources[0]["lines"][3]), "line 6");
}

// --- the tree
// -------------------------------------------------------------------------------------

class StackTreeTest : public ::testing::Test {
 protected:
  // A tree of `calls` functions that one function calls, on a thread of its own.
  StackTree tree(int calls) {
    std::vector<StackFrame> frames = {{FrameId::kNone, StringId{1}, StringId{2}, 1}};
    for (int i = 0; i < calls; ++i) frames.push_back({FrameId{1}, StringId{3}, StringId{2}, i + 1});
    return {*reader_, frames};
  }
  static void look(StackTree& tree, int frame, int times, int thread = 1) {
    for (int i = 0; i < times; ++i) {
      tree.add({static_cast<WatchedThreadId>(thread), session_time(0), static_cast<FrameId>(frame),
                false, StringId::kNone},
               SampleMoment::kAwaited);
    }
  }
  static std::int64_t sum(const StackTree& tree) {
    std::int64_t sum = 0;
    for (const auto& [thread, samples] : tree.samples_by_thread()) sum += samples;
    return sum;
  }

  void SetUp() override { make_store(dir_ / "run.db", SyntheticRun{.steps = 1}); }

  const TempDir dir_;
  std::unique_ptr<TraceReader> reader_ = nullptr;
};

TEST_F(StackTreeTest, WhatIsTooSmallCountsForItsCaller) {
  reader_ = open_store(dir_ / "run.db");
  StackTree small = tree(2);
  look(small, 2, 9'996);
  look(small, 3, 4);
  small.prune(10, 0.0005, 100);
  EXPECT_EQ(small.nodes().size(), 2U);
  EXPECT_EQ(small.left_out().nodes, 1U);
  EXPECT_EQ(sum(small), 10'000);
  EXPECT_THAT(small.totals(), ElementsAre(10'000, 9'996));
}

TEST_F(StackTreeTest, WhatIsTooSmallAndHasNoCallerIsOfNoFrame) {
  reader_ = open_store(dir_ / "run.db");
  const std::vector<StackFrame> outermost = {{FrameId::kNone, StringId{1}, StringId{2}, 1},
                                             {FrameId::kNone, StringId{3}, StringId{2}, 1}};
  StackTree rare(*reader_, outermost);
  look(rare, 1, 9'996);
  look(rare, 2, 4);
  rare.prune(10, 0.0005, 100);
  EXPECT_THAT(rare.totals(), ElementsAre(9'996));
  EXPECT_EQ(sum(rare), 10'000);
}

TEST_F(StackTreeTest, WhatIsLargeInOneThreadStays) {
  reader_ = open_store(dir_ / "run.db");
  StackTree both = tree(2);
  look(both, 2, 20'000, 1);
  look(both, 3, 4, 2);
  both.prune(10, 0.0005, 100);
  EXPECT_EQ(both.nodes().size(), 3U);
}

TEST_F(StackTreeTest, HasNoMoreNodesAndThreadsThanAsked) {
  reader_ = open_store(dir_ / "run.db");
  StackTree large = tree(50);
  for (int i = 2; i <= 51; ++i) look(large, i, i);
  look(large, 1, 5, 2);
  large.prune(1, 0.0005, 10);
  EXPECT_LE(large.nodes().size(), 10U);
  EXPECT_GT(large.nodes().size(), 5U);
  EXPECT_EQ(large.left_out().threads, 1U);
  EXPECT_GT(large.left_out().least, 0.02);
  EXPECT_EQ(sum(large), 51 * 52 / 2 - 1);
}

// --- the source
// -----------------------------------------------------------------------------------

class SourceExcerptsTest : public ::testing::Test {
 protected:
  Json excerpts(const std::vector<SourceLine>& wanted, const ExcerptLimits& limits = {},
                std::int64_t recorded_ns = 0) {
    make_store(dir_ / "run.db", SyntheticRun{.steps = 1});
    const auto reader = open_store(dir_ / "run.db");
    ReportNames names(*reader);
    const Json found = source_excerpts(wanted, recorded_ns, limits, names);
    names_ = names.json();
    return found;
  }

  const TempDir dir_;
  Json names_;
};

TEST_F(SourceExcerptsTest, JoinsWhatOverlapsAndKeepsTheRestApart) {
  const std::string file = write_lines(dir_ / "a.py", 100);
  const Json found = excerpts({{file, 10}, {file, 15}, {file, 50}, {file, 100}, {file, 101}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0]["first"], 7);
  EXPECT_EQ(found[0]["lines"].size(), 12U);
  EXPECT_EQ(found[1]["first"], 47);
  EXPECT_EQ(found[2]["first"], 97);
  EXPECT_EQ(found[2]["lines"].size(), 4U);
}

TEST_F(SourceExcerptsTest, HoldsNoMoreThanAsked) {
  const std::string file = write_lines(dir_ / "a.py", 100);
  const Json found = excerpts({{file, 10}, {file, 50}}, {.around = 1, .bytes = 31});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["lines"].size(), 3U);
  EXPECT_EQ(found[1]["lines"].size(), 1U);
}

TEST_F(SourceExcerptsTest, ReadsNothingButPythonSource) {
  write_lines(dir_ / "id_rsa", 10);
  std::filesystem::create_directory(dir_ / "folder.py");
  std::filesystem::create_symlink("/dev/zero", dir_ / "endless.py");
  EXPECT_THAT(excerpts({{(dir_ / "id_rsa").string(), 1},
                        {(dir_ / "folder.py").string(), 1},
                        {(dir_ / "endless.py").string(), 1},
                        {(dir_ / "missing.py").string(), 1},
                        {"relative.py", 1},
                        {"<frozen runpy>", 1},
                        {"", 0}}),
              IsEmpty());
  const std::string large = write_lines(dir_ / "large.py", 100);
  EXPECT_THAT(excerpts({{large, 1}}, {.file_bytes = 100}), IsEmpty());
}

TEST_F(SourceExcerptsTest, SaysThatAFileHasChangedSince) {
  const std::string file = write_lines(dir_ / "a.py", 10);
  const std::int64_t later = 4'000'000'000'000'000'000;
  EXPECT_EQ(excerpts({{file, 1}}, {}, 1)[0]["changed"], true);
  EXPECT_EQ(excerpts({{file, 1}}, {}, later)[0]["changed"], false);
  EXPECT_EQ(excerpts({{file, 1}}, {}, 0)[0]["changed"], false);  // not known
}

}  // namespace
}  // namespace stepscope::testing
