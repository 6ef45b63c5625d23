// Traces of the PyTorch profiler that belong to one run: their ranks, hosts and clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/recording.h"
#include "tests/analyzer/kineto_import.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using KinetoRanks = KinetoImport;

TEST_F(KinetoRanks, FilesAreRanksOnOneClock) {
  TraceText first(kToday), second(kToday);
  first.event("cpu_op", "aten::add", "1", 10, 5);
  second.event("cpu_op", "aten::mul", "1", 4, 5);  // began earlier than the first file
  const auto summary =
      import({write("a_rank1.json", first.text()), write("b.json", second.text())});
  ASSERT_OK(summary.status());
  const auto reader = store();
  EXPECT_THAT(ops(*reader),
              ElementsAre("aten::mul 2 0-5000 5000 0 none", "aten::add 1 6000-11000 5000 0 none"));
  ASSERT_THAT(reader->processes(), SizeIs(2));
  EXPECT_EQ(reader->processes()[0].rank, 1);  // from its name
  EXPECT_EQ(reader->processes()[1].rank, 0);  // its place is taken
}

TEST_F(KinetoRanks, RefusesATraceThatIsGivenTwice) {
  Dialect dialect = kToday;
  dialect.before = R"("displayTimeUnit": "ms", "trace_id": "2CAB18F2",)";
  const std::string text = training_step(dialect);
  const fs::path one = write("one.json", text), copy = write_gzip("copy.json.gz", text);
  const auto refused = [&](const fs::path& second) {
    const Status status = import({one, second}).status();
    EXPECT_EQ(status.kind(), ErrorKind::kUsage);
    EXPECT_THAT(status.message(), HasSubstr(second.string() + ": is the same trace as"));
  };
  refused(one);
  refused(dir_ / "./one.json");
  refused(copy);
}

// Profiles that are requested of all ranks at once may have one id.
TEST_F(KinetoRanks, TakesRanksWithTheSameTraceId) {
  std::vector<fs::path> files;
  for (const std::string rank : {"0", "1"}) {
    const std::string before = R"("displayTimeUnit": "ms", "trace_id": "2CAB18F2",)"
                               R"("distributedInfo": {"rank": )" +
                               rank + "},";
    Dialect dialect = kToday;
    dialect.before = before.c_str();
    files.push_back(write(("rank" + rank + ".json").c_str(), training_step(dialect)));
  }
  EXPECT_OK(import(files).status());
}

TEST_F(KinetoRanks, KeepsTheHostOfEachRank) {
  const auto rank_on = [this](int rank, const std::string& host) {
    Dialect dialect = kToday;
    const std::string before = R"("distributedInfo": {"rank": )" + std::to_string(rank) + "},";
    const std::string after =
        R"(, "host_name": ")" + host + R"(", "baseTimeNanoseconds": 1790857026000000000)";
    dialect.before = before.c_str();
    dialect.after = after.c_str();
    return write(("rank" + std::to_string(rank) + ".json").c_str(), training_step(dialect));
  };
  ASSERT_OK(import({rank_on(0, "h0"), rank_on(1, R"(h\n1)"), rank_on(2, "h0")}).status());
  const auto several = store();
  EXPECT_FALSE(several->meta("host"));
  const auto recording = read_recording(*several);
  ASSERT_OK(recording.status());
  EXPECT_THAT(recording->facts.hosts, ElementsAre("h0", "h\n1"));
  EXPECT_EQ(recording->facts.rank_hosts.at(1), "h\n1");
  EXPECT_EQ(recording->facts.rank_hosts.at(2), "h0");

  ASSERT_OK(import({rank_on(0, "h0"), rank_on(1, "h0")}).status());
  EXPECT_EQ(store()->meta("host"), "h0");
  EXPECT_FALSE(store()->meta("rank_hosts"));
}

TEST_F(KinetoRanks, RefusesTwoTracesOfOneRankOrProcess) {
  const auto refused = [this](const Dialect& dialect, const std::string& names,
                              const std::string& why) {
    const fs::path a = write(("a" + names).c_str(), training_step(dialect));
    const fs::path b = write(("b" + names).c_str(), training_step(dialect));
    const Status status = import({a, b}).status();
    EXPECT_EQ(status.kind(), ErrorKind::kUsage);
    EXPECT_THAT(status.message(), HasSubstr(b.string() + ": is of " + why + a.string() + "; "));
  };
  Dialect dialect = kToday;
  refused(dialect, ".json", "the same process as ");
  refused(dialect, "-rank3.json", "rank 3, as is ");
  dialect.before = R"("distributedInfo": {"rank": 5},)";
  refused(dialect, ".json", "rank 5, as is ");
}

}  // namespace
}  // namespace stepscope
