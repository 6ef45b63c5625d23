// What both recorders do with their store: its facts, the first failure, and what is missing then.
#include "profiler/recorder/store_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <string>

#include "profiler/recorder/process_info.h"
#include "store/sqlite.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"

namespace stepscope {
namespace {

class StoreSessionTest : public testing::Test {
 protected:
  StoreSessionTest()
      : path_(testing::TempDir() + "/session-store-" + std::to_string(getpid()) + ".db"),
        region_(map_private_region(lay_out_region(1), {})) {
    auto session = StoreSession::create(path_, {{"tier", "test"}});
    EXPECT_TRUE(session.ok()) << session.status().message();
    session_ = *std::move(session);
    const auto process = session_->writer().add_process(this_process());
    EXPECT_TRUE(process.ok());
    drain_ = &session_->open_drain(region_, *process);
  }
  ~StoreSessionTest() override {
    session_.reset();
    unmap_region(region_);
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".old");
  }

  // The program counts `events` that it could not record, and the session drains that.
  void lose(std::uint64_t events) {
    region_.header->failures += events;
    session_->attempt([this] { return drain_->drain(); });
  }
  std::map<std::string, std::int64_t> finish() {
    outcome_ = session_->finish({{"step_count", "7"}}, session_->now());
    auto reader = TraceReader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    reader_ = *std::move(reader);
    std::map<std::string, std::int64_t> losses;
    const auto stored = reader_->losses();
    EXPECT_TRUE(stored.ok());
    for (const Loss& loss : *stored) losses[loss.kind] += loss.count;
    return losses;
  }

  const std::string path_;
  const Region region_;
  std::unique_ptr<StoreSession> session_;
  ProcessDrain* drain_ = nullptr;
  Status outcome_;
  std::unique_ptr<TraceReader> reader_;
};

Status out_of_memory() { throw std::bad_alloc(); }

TEST_F(StoreSessionTest, FactsAreStoredAtItsBeginningAndItsEnd) {
  lose(5);
  EXPECT_THAT(finish(), testing::ElementsAre(testing::Pair("failure", 5)));
  EXPECT_TRUE(outcome_.ok()) << outcome_.message();
  EXPECT_EQ(reader_->meta("tier"), "test");
  EXPECT_EQ(reader_->meta("state"), "complete");
  EXPECT_EQ(reader_->meta_int("step_count", 0), 7);
  EXPECT_GT(reader_->meta_int("end_ns", 0), 0);
  EXPECT_NE(reader_->meta("cpu_count"), std::nullopt);
  EXPECT_NE(reader_->meta("monotonic_start_ns"), std::nullopt);
}

// What lies between the last flush and the failure is either stored or missing, never both.
TEST_F(StoreSessionTest, AfterAFailureEachEventIsStoredOrMissing) {
  lose(5);
  session_->attempt([this] { return session_->flush(); });
  lose(30);
  session_->attempt(out_of_memory);
  lose(700);
  EXPECT_THAT(finish(), testing::UnorderedElementsAre(testing::Pair("failure", 5),
                                                      testing::Pair("unwritten", 730)));
  EXPECT_EQ(reader_->meta("recording_stopped"), "out of memory");
  EXPECT_EQ(outcome_.message(), "out of memory");
}

// Whoever watches the run need not wait for its end.
TEST_F(StoreSessionTest, TheReasonOfAFailureIsStoredAtOnce) {
  session_->attempt([this] { return session_->flush(); });
  session_->attempt(out_of_memory);
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ((*reader)->meta("recording_stopped"), "out of memory");
  EXPECT_EQ((*reader)->meta("state"), "recording");
}

TEST_F(StoreSessionTest, OnlyTheFirstFailureIsReported) {
  std::string reported;
  session_->set_on_failure([&](const Status& status) { reported += status.message() + ";"; });
  session_->attempt([] { return Status::error(ErrorKind::kIo, "first"); });
  session_->attempt(out_of_memory);
  EXPECT_EQ(reported, "first;");
  EXPECT_EQ(session_->failure().message(), "first");
}

// Another program's lock is no failure: what waits is written afterwards.
TEST_F(StoreSessionTest, ALockedStoreIsWrittenLater) {
  lose(5);
  session_->attempt([this] { return session_->flush(); });
  auto other = Database::open(path_, SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(other.ok() && other->exec("BEGIN IMMEDIATE").ok());
  EXPECT_FALSE(session_->lock());
  EXPECT_FALSE(session_->failed());
  EXPECT_TRUE(other->exec("ROLLBACK").ok());
  EXPECT_TRUE(session_->lock());
  lose(30);
  EXPECT_THAT(finish(), testing::ElementsAre(testing::Pair("failure", 35)));
  EXPECT_TRUE(outcome_.ok()) << outcome_.message();
}

// --- a store that is moved or deleted meanwhile --------------------------------------------------

class MovedStoreTest : public testing::Test {
 protected:
  MovedStoreTest() {
    std::filesystem::create_directories(folder_ / "before");
    auto session = StoreSession::create(folder_ / "before/run.db", {});
    EXPECT_TRUE(session.ok()) << session.status().message();
    session_ = *std::move(session);
    session_->attempt([this] { return session_->flush(); });
  }
  ~MovedStoreTest() override {
    session_.reset();
    std::filesystem::remove_all(folder_);
  }
  Status finish() { return session_->finish({{"step_count", "7"}}, session_->now()); }
  // At `path` below the folder, the store is where the session says, and complete.
  void expect_complete(const char* path) {
    EXPECT_EQ(session_->path(), folder_ / path);
    const auto reader = TraceReader::open(folder_ / path);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ((*reader)->meta("state"), "complete");
    EXPECT_EQ((*reader)->meta_int("step_count", 0), 7);
  }

  const std::filesystem::path folder_ =
      std::filesystem::canonical(testing::TempDir()) / ("moved-" + std::to_string(getpid()));
  std::unique_ptr<StoreSession> session_;
};

TEST_F(MovedStoreTest, ARenamedOneIsComplete) {
  std::filesystem::rename(folder_ / "before/run.db", folder_ / "other.db");
  const Status status = finish();
  EXPECT_TRUE(status.ok()) << status.message();
  expect_complete("other.db");
}

TEST_F(MovedStoreTest, SoIsOneWhoseFolderIsRenamed) {
  std::filesystem::rename(folder_ / "before", folder_ / "after");
  const Status status = finish();
  EXPECT_TRUE(status.ok()) << status.message();
  expect_complete("after/run.db");
}

TEST_F(MovedStoreTest, ADeletedOneIsGone) {
  std::filesystem::remove(folder_ / "before/run.db");
  const Status status = finish();
  EXPECT_EQ(status.kind(), ErrorKind::kNotFound);
  EXPECT_THAT(status.message(), testing::HasSubstr("was deleted, or moved to another disk"));
}

// SQLite would apply its log to the other file.
TEST_F(MovedStoreTest, WhatTakesItsPlaceStaysAsItIs) {
  ASSERT_TRUE(session_->flush().ok());
  const std::filesystem::path store = folder_ / "before/run.db", other = folder_ / "other.db";
  {
    auto writer = TraceWriter::create(other);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->finish().ok());
  }
  std::filesystem::copy(other, folder_ / "copy.db");
  std::filesystem::rename(other, store);
  session_->attempt([&] { return session_->set_meta("later", "on"); });
  const Status status = finish();
  EXPECT_EQ(status.kind(), ErrorKind::kNotFound);
  EXPECT_THAT(status.message(), testing::HasSubstr("another file has taken its place"));
  session_.reset();
  const auto content = [](const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  };
  EXPECT_TRUE(TraceReader::open(store).ok());
  EXPECT_EQ(content(store), content(folder_ / "copy.db"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "before/run.db-wal"));
}

TEST_F(MovedStoreTest, OneThatNobodyMovedIsWhereItWas) {
  EXPECT_TRUE(finish().ok());
  expect_complete("before/run.db");
}

// --- an earlier recording ------------------------------------------------------------------------

class LateStoreTest : public testing::Test {
 protected:
  LateStoreTest() : path_(testing::TempDir() + "/late-store-" + std::to_string(getpid()) + ".db") {
    auto writer = TraceWriter::create(path_);
    EXPECT_TRUE(writer.ok());
    EXPECT_TRUE((*writer)->set_meta("tier", "earlier").ok());
    EXPECT_TRUE((*writer)->add(Loss{ThreadId::kNone, "op", 1}).ok());
    EXPECT_TRUE((*writer)->finish().ok());
  }
  ~LateStoreTest() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".old");
  }
  [[nodiscard]] std::string tier_of(const std::string& path) const {
    const auto reader = TraceReader::open(path);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    return reader.ok() ? (*reader)->meta("tier").value_or("") : "";
  }

  const std::string path_;
};

TEST_F(LateStoreTest, StaysWhereNothingBegins) {
  auto session = StoreSession::prepare(path_, {{"tier", "late"}});
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_FALSE((*session)->begun());
  EXPECT_TRUE((*session)->set_meta("socket", "here").ok());
  (*session)->attempt([&] { return (*session)->flush(); });
  EXPECT_TRUE((*session)->finish({{"step_count", "7"}}, (*session)->now()).ok());
  session->reset();
  EXPECT_EQ(tier_of(path_), "earlier");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".old"));
}

// Not even that events are missing may be said in a store of another recording.
TEST_F(LateStoreTest, StaysAsItIsAfterAFailure) {
  auto session = StoreSession::prepare(path_, {});
  ASSERT_TRUE(session.ok());
  (*session)->attempt(out_of_memory);
  EXPECT_FALSE((*session)->finish({}, (*session)->now()).ok());
  session->reset();
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->meta("recording_stopped"), std::nullopt);
}

TEST_F(LateStoreTest, IsKeptAsOldOnceTheNewOneBegins) {
  auto session = StoreSession::prepare(path_, {{"tier", "late"}});
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE((*session)->set_meta("socket", "here").ok());
  ASSERT_TRUE((*session)->begin().ok());
  EXPECT_TRUE((*session)->begun());
  EXPECT_TRUE((*session)->begin().ok()) << "once";
  EXPECT_TRUE((*session)->finish({}, (*session)->now()).ok());
  EXPECT_EQ(tier_of(path_), "late");
  EXPECT_EQ(tier_of(path_ + ".old"), "earlier");
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->meta("socket"), "here");
}

TEST_F(LateStoreTest, IsThereAgainWhenTheNewOneIsDiscarded) {
  auto session = StoreSession::prepare(path_, {});
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE((*session)->begin().ok());
  (*session)->discard();
  session->reset();
  EXPECT_EQ(tier_of(path_), "earlier");
}

// --- totals --------------------------------------------------------------------------------------

// Its region may be gone: a drain that was closed is asked for its totals alone.
TEST_F(StoreSessionTest, AClosedDrainKeepsItsTotals) {
  lose(5);
  drain_->close();
  lose(30);
  EXPECT_EQ(drain_->totals().events(), 5);
  EXPECT_THAT(finish(), testing::ElementsAre(testing::Pair("failure", 5)));
}

}  // namespace
}  // namespace stepscope
