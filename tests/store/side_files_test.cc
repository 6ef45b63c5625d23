// The files that SQLite keeps beside a store, where somebody else can put files too: nothing of
// ours goes into them, and nothing of theirs is touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <string>

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
using testing::read_file;
using testing::TempDir;
using testing::write_file;

constexpr std::array<const char*, 3> kSuffixes{"-wal", "-shm", "-journal"};
constexpr uid_t kVictim = 64'001, kAttacker = 64'002;

fs::path side_of(const fs::path& path, const char* suffix) { return path.native() + suffix; }

Status create_error(const fs::path& path) {
  return TraceWriter::create(path, ExistingStore::kKeepAsOld).status();
}

TEST(SideFiles, WhatIsLeftOfARemovedStoreGivesWayToANewOne) {
  for (const char* suffix : kSuffixes) {
    const TempDir dir;
    write_file(dir / "notes", "my notes");
    fs::create_symlink(dir / "notes", side_of(dir / "run.db", suffix));
    EXPECT_OK(create_error(dir / "run.db"));
    EXPECT_EQ(read_file(dir / "notes"), "my notes") << suffix;
  }
}

TEST(SideFiles, WhatCannotBeRemovedIsNamed) {
  for (const char* suffix : kSuffixes) {
    const TempDir dir;
    const fs::path side = side_of(dir / "run.db", suffix);
    fs::create_directories(side / "kept");
    expect_error(create_error(dir / "run.db"), ErrorKind::kBadInput, side,
                 {"cannot be removed", "choose another name"});
    EXPECT_TRUE(fs::exists(side / "kept")) << suffix;
    EXPECT_FALSE(fs::exists(dir / "run.db")) << suffix;
  }
}

// A pipe would make SQLite wait for ever, a link would lead it to another file.
TEST(SideFiles, BesideAStoreThatIsNeitherLinkNorPipe) {
  for (const char* suffix : kSuffixes) {
    const TempDir dir;
    const fs::path store = dir / "run.db", side = side_of(store, suffix);
    testing::make_store(store, {});
    const auto refused = [&](const char* what) {
      for (const Status& status :
           {create_error(store), check_path(store), TraceWriter::open(store).status(),
            TraceReader::open(store).status()})
        expect_error(status, ErrorKind::kBadInput, side, {what});
      EXPECT_TRUE(fs::remove(side)) << suffix;
    };
    ASSERT_EQ(::mkfifo(side.c_str(), 0666), 0);
    refused("is a link or no regular file");
    write_file(dir / "notes", "my notes");
    fs::create_symlink(dir / "notes", side);
    refused("is a link or no regular file");
    fs::create_hard_link(dir / "notes", side);
    refused("is a link or no regular file");
    EXPECT_EQ(read_file(dir / "notes"), "my notes") << suffix;
    EXPECT_OK(TraceReader::open(store).status());
  }
}

// The rest needs two users, and so root.
class SharedFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be two other users";
    fs::permissions(dir_ / ".", fs::perms::all | fs::perms::sticky_bit);  // as /tmp
    const auto try_folder = [&] { return ::access(dir_.path().c_str(), W_OK | X_OK) == 0 ? 0 : 1; };
    if (as(kVictim, try_folder) != 0 || as(kAttacker, try_folder) != 0)
      GTEST_SKIP() << "needs a TMPDIR that other users can write to";
  }

  // What `body` returns, run as another user.
  static int as(uid_t user, const std::function<int()>& body) {
    Child child([&](const Child::Ready&) {
      return ::setgid(user) == 0 && ::setuid(user) == 0 ? body() : 99;
    });
    return child.exit_code();
  }

  void make_side_of_attacker(const fs::path& side) {
    ASSERT_EQ(as(kAttacker,
                 [&] {
                   ::umask(0);
                   write_file(side, "");
                   return 0;
                 }),
              0);
    ASSERT_TRUE(fs::exists(side));
  }

  const TempDir dir_;
};

TEST_F(SharedFolder, NothingIsWrittenToFilesOfAnotherUser) {
  for (const char* suffix : kSuffixes) {
    const fs::path store = dir_ / "run.db", side = side_of(store, suffix);
    make_side_of_attacker(side);
    EXPECT_EQ(as(kVictim,
                 [&] {
                   const Status status = create_error(store);
                   const bool named = status.message().find(side.string()) != std::string::npos;
                   return !status.ok() && named ? 0 : 1;
                 }),
              0)
        << suffix;
    EXPECT_EQ(fs::file_size(side), 0U) << suffix;
    EXPECT_FALSE(fs::exists(store)) << suffix;
    fs::remove(side);
  }
}

TEST_F(SharedFolder, AStoreIsNotReadWithFilesOfAnotherUser) {
  const fs::path store = dir_ / "run.db";
  ASSERT_EQ(as(kVictim,
               [&] {
                 testing::make_store(store, {});
                 return 0;
               }),
            0);
  for (const char* suffix : kSuffixes) {
    const fs::path side = side_of(store, suffix);
    make_side_of_attacker(side);
    EXPECT_EQ(as(kVictim,
                 [&] {
                   const bool opened = TraceReader::open(store).ok() ||
                                       TraceWriter::open(store).ok() || create_error(store).ok();
                   return opened ? 1 : 0;
                 }),
              0)
        << suffix;
    expect_error(TraceReader::open(store).status(), ErrorKind::kBadInput, side,
                 {"another user made it"});
    fs::remove(side);
  }
  EXPECT_OK(TraceReader::open(store).status());
}

// As root does in a container, or another member of a group.
TEST_F(SharedFolder, AStoreOfAnotherUserIsReadWithItsOwnFiles) {
  const fs::path store = dir_ / "run.db";
  Child recorder([&](const Child::Ready& ready) {
    if (::setgid(kVictim) != 0 || ::setuid(kVictim) != 0) return 99;
    const auto writer = TraceWriter::create(store, ExistingStore::kKeepAsOld);
    if (!writer.ok() || !(*writer)->flush().ok()) return 1;
    ready();
    ::pause();
    return 0;
  });
  ASSERT_TRUE(recorder.wait_until_ready());
  EXPECT_TRUE(fs::exists(side_of(store, "-wal"))) << "SQLite opens it only later";
  EXPECT_OK(TraceReader::open(store).status());
  recorder.kill();
  EXPECT_OK(TraceReader::open(store).status());
}

}  // namespace
}  // namespace stepscope
