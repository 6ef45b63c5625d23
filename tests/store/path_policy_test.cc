// What create() and open() do with what is already at a path: never lose it, always say it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "store/new_file.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/store_path.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/child.h"
#include "tests/store/testing/synthetic_run.h"
#include "tests/store/whole_file.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::read_file;
using testing::SyntheticRun;
using testing::TempDir;
using testing::write_file;

SyntheticRun run_of(int steps) {
  SyntheticRun run;
  run.steps = steps;
  return run;
}

std::int64_t ops_in(const fs::path& path) {
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return reader.ok() ? *(*reader)->op_count() : -1;
}

Status create_error(const fs::path& path, ExistingStore existing = ExistingStore::kKeepAsOld) {
  return TraceWriter::create(path, existing).status();
}

// Neither writer nor reader takes the file, and it stays as it is.
void expect_refused(const fs::path& path, const std::string& why) {
  const std::string before = read_file(path);
  expect_error(create_error(path), ErrorKind::kBadInput, path, {why});
  expect_error(TraceReader::open(path).status(), ErrorKind::kBadInput, path, {why});
  expect_error(TraceWriter::open(path).status(), ErrorKind::kBadInput, path, {why});
  EXPECT_EQ(read_file(path), before);
  EXPECT_FALSE(fs::exists(path.string() + ".old"));
}

TEST(PathPolicy, AFinishedStoreIsOnePlainFile) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {}, /*analysed=*/true);
  int files = 0;
  for ([[maybe_unused]] const auto& file : fs::directory_iterator(dir.path())) ++files;
  EXPECT_EQ(files, 1);
}

TEST(PathPolicy, AnEarlierStoreBecomesOldAndReplacesOnlyAnOlderOne) {
  const TempDir dir;
  testing::make_store(dir / "run.db", run_of(1));
  testing::make_store(dir / "run.db", run_of(2));
  EXPECT_EQ(ops_in(dir / "run.db"), run_of(2).op_count());
  EXPECT_EQ(ops_in(dir / "run.db.old"), run_of(1).op_count());
  testing::make_store(dir / "run.db", run_of(3));
  EXPECT_EQ(ops_in(dir / "run.db"), run_of(3).op_count());
  EXPECT_EQ(ops_in(dir / "run.db.old"), run_of(2).op_count());
}

TEST(PathPolicy, AnEarlierStoreIsRefusedWhenAskedFor) {
  const TempDir dir;
  testing::make_store(dir / "run.db", run_of(1));
  expect_error(create_error(dir / "run.db", ExistingStore::kRefuse), ErrorKind::kBadInput,
               dir / "run.db", {"already exists"});
  EXPECT_EQ(ops_in(dir / "run.db"), run_of(1).op_count());
}

TEST(PathPolicy, AFileOfSomebodyElseAtOldIsNotReplaced) {
  const TempDir dir;
  testing::make_store(dir / "run.db", run_of(1));
  write_file(dir / "run.db.old", "my notes");
  expect_error(create_error(dir / "run.db"), ErrorKind::kBadInput, dir / "run.db.old",
               {"not a Stepscope store"});
  EXPECT_EQ(read_file(dir / "run.db.old"), "my notes");
  EXPECT_EQ(ops_in(dir / "run.db"), run_of(1).op_count());
}

// SQLite would take the file for its own and remove it when it next opens the database.
TEST(PathPolicy, TheNameOfALogOfADatabaseIsRefused) {
  const TempDir dir;
  testing::make_store(dir / "run.db", run_of(1));
  testing::make_store(dir / "other.db-wal", run_of(2));
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    const fs::path side = (dir / "run.db").string() + suffix;
    expect_error(create_error(side), ErrorKind::kBadInput, side, {"belongs to the database"});
    expect_error(check_path(side), ErrorKind::kBadInput, side, {"belongs to the database"});
  }
  expect_error(create_error(dir / "other.db"), ErrorKind::kBadInput, dir / "other.db",
               {"other.db-wal", "choose another name"});
  EXPECT_EQ(ops_in(dir / "run.db"), run_of(1).op_count());
  EXPECT_EQ(ops_in(dir / "other.db-wal"), run_of(2).op_count());
}

TEST(PathPolicy, WhatIsNoStoreIsRefused) {
  const TempDir dir;
  write_file(dir / "notes.txt", "my notes");
  expect_refused(dir / "notes.txt", "not a Stepscope store");
  write_file(dir / "long.txt", std::string(5000, 'x'));
  expect_refused(dir / "long.txt", "not a Stepscope store");
  write_file(dir / "empty.db", "");
  expect_refused(dir / "empty.db", "empty");
  write_file(dir / "half.db", "SQLite format 3");
  expect_refused(dir / "half.db", "not a Stepscope store");
}

TEST(PathPolicy, AnotherProgramsDatabaseIsRefused) {
  const TempDir dir;
  auto other = Database::open(dir / "other.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  ASSERT_OK(other.status());
  ASSERT_OK(other->exec("CREATE TABLE meta(key, value)"));
  *other = Database();
  expect_refused(dir / "other.db", "but not a Stepscope store");
}

TEST(PathPolicy, AFolderAndAMissingFileAreSaid) {
  const TempDir dir;
  for (const Status& status : {create_error(dir.path()), TraceReader::open(dir.path()).status(),
                               TraceWriter::open(dir.path()).status()}) {
    expect_error(status, ErrorKind::kBadInput, dir.path(), {"is a folder"});
  }
  expect_error(TraceReader::open(dir / "no.db").status(), ErrorKind::kNotFound, dir / "no.db",
               {"no such file"});
  expect_error(TraceWriter::open(dir / "no.db").status(), ErrorKind::kNotFound, dir / "no.db");

  const fs::path nowhere = dir.path() / "no" / "run.db";
  expect_error(create_error(nowhere), ErrorKind::kIo, nowhere, {"its folder does not exist"});
  EXPECT_FALSE(fs::exists(nowhere.parent_path()));
  expect_error(create_error("/dev/null"), ErrorKind::kBadInput, "/dev/null", {"regular file"});
}

TEST(PathPolicy, ALinkToNothingIsSaid) {
  const TempDir dir;
  const fs::path link = dir / "run.db";
  fs::create_symlink("gone.db", link);
  expect_error(create_error(link), ErrorKind::kNotFound, link, {"is a link to gone.db"});
  expect_error(TraceReader::open(link).status(), ErrorKind::kNotFound, link, {"is a link to"});
  EXPECT_FALSE(fs::exists(dir / "gone.db"));
}

void set_user_version(const fs::path& path, int version) {
  auto database = Database::open(path, SQLITE_OPEN_READWRITE);
  ASSERT_OK(database.status());
  ASSERT_OK(database->exec(("PRAGMA user_version = " + std::to_string(version)).c_str()));
}

TEST(PathPolicy, AnEmptyNameIsSaid) {
  EXPECT_EQ(TraceReader::open("").status().message(), "the name of the file is empty");
}

// With what SQLite adds to it, too.
TEST(PathPolicy, ANameThatIsTooLongIsSaid) {
  const TempDir dir;
  for (const std::size_t length : {248U, 255U, 256U}) {
    const Status status = create_error(dir.path() / std::string(length, 'y'));
    EXPECT_EQ(status.kind(), ErrorKind::kIo);
    EXPECT_THAT(status.message(), HasSubstr(": File name too long")) << length;
  }
  EXPECT_OK(TraceWriter::create(dir.path() / std::string(247, 'y')).status());
}

TEST(PathPolicy, ANewerSchemaIsNamedAndKept) {
  const TempDir dir;
  testing::make_store(dir / "run.db", run_of(1));
  set_user_version(dir / "run.db", kSchemaVersion + 6);
  const std::string version = std::to_string(kSchemaVersion + 6);
  const std::string before = read_file(dir / "run.db");
  for (const Status& status :
       {TraceReader::open(dir / "run.db").status(), TraceWriter::open(dir / "run.db").status()}) {
    expect_error(status, ErrorKind::kBadInput, dir / "run.db", {version, "update Stepscope"});
  }
  EXPECT_EQ(read_file(dir / "run.db"), before);
  // A new recording may still move it aside.
  testing::make_store(dir / "run.db", run_of(2));
  EXPECT_EQ(read_file(dir / "run.db.old"), before);
}

TEST(PathPolicy, ATruncatedStoreIsSaidWhereverItWasCut) {
  const TempDir dir;
  SyntheticRun run = run_of(2000);
  testing::make_store(dir / "whole.db", run);
  const auto size = static_cast<std::int64_t>(fs::file_size(dir / "whole.db"));
  for (const std::int64_t cut : {size - 1, size - 100'000, size / 2, std::int64_t{70'000},
                                 std::int64_t{65'536}, std::int64_t{200}}) {
    fs::copy_file(dir / "whole.db", dir / "cut.db", fs::copy_options::overwrite_existing);
    fs::resize_file(dir / "cut.db", static_cast<std::uintmax_t>(cut));
    const Status status = TraceReader::open(dir / "cut.db").status();
    expect_error(status, ErrorKind::kBadInput, dir / "cut.db");

    const std::string& message = status.message();
    EXPECT_TRUE(message.find("cut off") != std::string::npos ||
                message.find("damaged") != std::string::npos)
        << "cut at " << cut << ": " << message;
  }
}

TEST(PathPolicy, DamageWithinAStoreIsAnErrorNotACrash) {
  const TempDir dir;
  {
    auto writer = TraceWriter::create(dir / "run.db");
    ASSERT_OK(writer.status());
    ASSERT_OK((*writer)->add(std::vector<Op>(50'000)));
  }
  {  // the last pages are those of the ops
    std::fstream file(dir / "run.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-65536 * 3, std::ios::end);
    file << std::string(65536 * 2, '\xA5');
  }
  auto reader = TraceReader::open(dir / "run.db");
  ASSERT_OK(reader.status());
  const Status status = (*reader)->for_each_op([](const Op&) { return true; });
  expect_error(status, ErrorKind::kBadInput, dir / "run.db", {"damaged"});
}

TEST(PathPolicy, PathsMayHoldAnyCharacter) {
  const TempDir dir;
  const fs::path path = dir / "50% of #1?mode=ro & more ü.db";
  testing::make_store(path, run_of(1));
  testing::make_store(path, run_of(2));
  EXPECT_EQ(ops_in(path), run_of(2).op_count());
  EXPECT_EQ(ops_in(path.string() + ".old"), run_of(1).op_count());
}

// A recorder that is killed while it makes its store leaves none, or one that the next replaces.
TEST(PathPolicy, AKillAtAnyMomentOfTheMakingLeavesThePathUsable) {
  constexpr int kKills = 100;
  constexpr int kStores = 1000;  // more than are made before the kill
  const TempDir dir;
  const auto path_of = [&](int i) { return dir.path() / (std::to_string(i) + ".db"); };
  int made = 0;
  int step_us = 211;  // a prime, so that each kill comes at another point of the making
  for (int kill = 0; kill < kKills; ++kill) {
    if (made == 0 && kill % 20 == 19) step_us *= 2;  // a slow build, or a busy machine
    Child child([&](const Child::Ready& ready) {
      ready();
      for (int i = 0; i < kStores; ++i) {
        if (!TraceWriter::create(path_of(i)).ok()) return 1;
      }
      return 0;
    });
    ASSERT_TRUE(child.wait_until_ready());
    ::usleep(static_cast<useconds_t>(kill * step_us));
    child.kill();
    for (int i = 0; fs::exists(path_of(i)); ++i, ++made) {
      EXPECT_OK(create_error(path_of(i)));
    }
    for (const auto& entry : fs::directory_iterator(dir.path())) fs::remove(entry.path());
  }
  EXPECT_GT(made, 0);
}

// Where the file system has no files without a name.
TEST(PathPolicy, AStoreThatIsMadeBesideItsPathIsAlone) {
  const TempDir dir;
  const auto make = [&](const char* content, int error) {
    const NewFile made =
        make_file_beside(dir / "run.db", content, [&](int /*fd*/) { return error; });
    if (made.fd >= 0) ::close(made.fd);
    return made.error;
  };
  EXPECT_EQ(make("never seen", ENOSPC), ENOSPC);
  EXPECT_TRUE(fs::is_empty(dir.path()));
  EXPECT_EQ(make("content", 0), 0);
  EXPECT_EQ(make("another", 0), EEXIST);
  EXPECT_EQ(read_file(dir / "run.db"), "content");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);
}

TEST(PathPolicy, LogsLeftByARemovedStoreDoNoHarm) {
  const TempDir dir;
  write_file(dir / "run.db-wal", "what is left of a store");
  write_file(dir / "run.db-journal", "and of another");
  testing::make_store(dir / "run.db", run_of(2));
  EXPECT_EQ(ops_in(dir / "run.db"), run_of(2).op_count());
}

// As any user but root, for whom every folder is writable.
template <typename Body>
int as_nobody(const Body& body) {
  Child child([&](const Child::Ready&) {
    if (::geteuid() == 0 && (::setegid(65534) != 0 || ::seteuid(65534) != 0)) return 99;
    return body();
  });
  return child.exit_code();
}

TEST(PathPolicy, AFinishedStoreOpensWhereNothingCanBeWritten) {
  const TempDir dir;
  testing::make_store(dir / "run.db", run_of(3), /*analysed=*/true);
  fs::permissions(dir / "run.db", fs::perms(0444));
  fs::permissions(dir.path(), fs::perms(0555));
  EXPECT_EQ(as_nobody([&] {
              auto reader = TraceReader::open(dir / "run.db");
              if (!reader.ok()) return 1;
              if ((*reader)->being_recorded()) return 2;
              return *(*reader)->op_count() == run_of(3).op_count() ? 0 : 3;
            }),
            0);
  EXPECT_EQ(as_nobody([&] {
              const Status status = TraceWriter::open(dir / "run.db").status();
              return status.kind() == ErrorKind::kIo &&
                             status.message().find("permission") != std::string::npos
                         ? 0
                         : 1;
            }),
            0);
  fs::permissions(dir.path(), fs::perms(0755));
}

TEST(PathPolicy, AnUnwritableFolderIsSaid) {
  const TempDir dir;
  fs::permissions(dir.path(), fs::perms(0555));
  EXPECT_EQ(as_nobody([&] {
              const Status status = create_error(dir / "run.db");
              return status.kind() == ErrorKind::kIo &&
                             status.message().find("permission denied") != std::string::npos
                         ? 0
                         : 1;
            }),
            0);
  fs::permissions(dir.path(), fs::perms(0755));
}

TEST(PathPolicy, AnUnfinishedStoreInAReadOnlyFolderIsSaid) {
  const TempDir dir;
  Child recorder([&](const Child::Ready& ready) {
    auto writer = TraceWriter::create(dir / "run.db");
    if (!writer.ok() || !testing::record(run_of(3), **writer).ok()) return 1;
    if (!(*writer)->flush().ok()) return 2;
    ready();
    ::pause();
    return 0;
  });
  ASSERT_TRUE(recorder.wait_until_ready());
  recorder.kill();
  fs::remove(dir / "run.db-shm");
  for (const auto& file : fs::directory_iterator(dir.path())) {
    fs::permissions(file.path(), fs::perms(0444));
  }
  fs::permissions(dir.path(), fs::perms(0555));
  EXPECT_EQ(as_nobody([&] {
              const Status status = TraceReader::open(dir / "run.db").status();
              return status.kind() == ErrorKind::kIo &&
                             status.message().find("run.db-wal") != std::string::npos
                         ? 0
                         : 1;
            }),
            0);
  fs::permissions(dir.path(), fs::perms(0755));
}

}  // namespace
}  // namespace stepscope
