// Another program locks the store while `stepscope run` records: the events wait in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "profiler/channel/client.h"
#include "profiler/recorder/run_recorder.h"
#include "store/sqlite.h"
#include "tests/profiler/recorded_program.h"

namespace stepscope {
namespace {

class LockedStoreTest : public testing::RecordedProgram {
 protected:
  LockedStoreTest() {
    auto other = Database::open(path_, SQLITE_OPEN_READWRITE);
    EXPECT_TRUE(other.ok()) << other.status().message();
    other_ = *std::move(other);
    other_->set_lock_patience({});
  }

  void tick() {
    recorder_->wait({});
    recorder_->tick();
  }
  // The recorder has the lock itself, except right after a commit.
  void lock_store() {
    while (!other_->exec("BEGIN IMMEDIATE").ok()) tick();
  }
  void unlock_store() { EXPECT_TRUE(other_->exec("ROLLBACK").ok()); }

  // Runs `early` in a child, locks the store, runs `meanwhile` there, unlocks the store, and runs
  // `late`. Returns its wait status.
  template <typename Early, typename Meanwhile, typename Late>
  int record_around_lock(const Early& early, const Meanwhile& meanwhile, const Late& late) {
    int to_child[2], to_us[2];
    EXPECT_EQ(pipe(to_child) + pipe(to_us), 0);
    char byte = 0;
    const pid_t pid = start([&] {
      early();
      if (read(to_child[0], &byte, 1) != 1) _exit(1);
      meanwhile();
      if (write(to_us[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1) _exit(2);
      late();
    });
    while (recorder_->progress().phases == 0) tick();
    lock_store();
    EXPECT_EQ(write(to_child[1], &byte, 1), 1);
    pollfd done{to_us[0], POLLIN, 0};
    while (poll(&done, 1, 0) == 0) tick();
    for (int i = 0; i < 3; ++i) tick();
    EXPECT_TRUE(recorder_->failure().ok()) << recorder_->failure().message();
    unlock_store();
    EXPECT_EQ(write(to_child[1], &byte, 1), 1);
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) tick();
    finish(pid, status);
    for (const int fd : {to_child[0], to_child[1], to_us[0], to_us[1]}) close(fd);
    return status;
  }

  std::optional<Database> other_;
};

TEST_F(LockedStoreTest, NothingOfThatTimeIsMissing) {
  const auto note_some = [this] {
    for (int i = 0; i < 1000; ++i) {
      note_scope();
      note_op();
    }
  };
  record_around_lock(note_some, note_some, note_some);
  EXPECT_EQ((*reader_->phases()).size(), 3000U);
  EXPECT_EQ(*reader_->op_count(), 3000);
  EXPECT_EQ(stored_lost(), 0);
  EXPECT_EQ(reader_->meta("state"), "complete");
}

// It is answered at once, and its events are held too.
TEST_F(LockedStoreTest, AProcessMayComeAndGoMeanwhile) {
  const int status = record_around_lock([this] { note_scope(); },
                                        [this] {
                                          const pid_t child = fork();
                                          if (child == 0) {
                                            note_scope();
                                            note_op();
                                            Session::get().mark_exit(7);
                                            _exit(7);
                                          }
                                          waitpid(child, nullptr, 0);
                                        },
                                        [this] { note_scope(); });
  EXPECT_EQ(status, 0);
  ASSERT_EQ(reader_->processes().size(), 2U);
  EXPECT_NE(reader_->processes()[1].name, "");
  EXPECT_EQ(reader_->processes()[1].parent_pid, reader_->processes()[0].pid);
  EXPECT_EQ((*reader_->phases()).size(), 3U);
  EXPECT_EQ(*reader_->op_count(), 1);
  EXPECT_EQ(stored_lost(), 0);
  const auto ends = reader_->process_ends();
  ASSERT_EQ(ends->size(), 2U);
  EXPECT_EQ((*ends)[1].code, 7);
}

TEST_F(LockedStoreTest, TheRecorderAnswersMeanwhile) {
  const int status = record_around_lock(
      [this] { note_scope(); },
      [this] {
        if (!ask_recorder(recorder_->socket_path(), ControlCommand::kStatus).ok()) _exit(3);
      },
      [] {});
  EXPECT_EQ(status, 0);
}

// The rest is counted, and the recording goes on.
TEST_F(LockedStoreTest, WhatIsTooMuchToHoldIsCounted) {
  record_around_lock([this] { note_scope(); },
                     [this] {
                       const RingHeader& ring = current_thread()->ring();
                       const auto& dropped = ring.lost[static_cast<int>(LossKind::kOp)];
                       while (dropped == 0) note_op();
                     },
                     [this] { note_scope(); });
  EXPECT_EQ((*reader_->phases()).size(), 2U);
  EXPECT_GT(stored_lost(), 0);
  expect_all_stored();
}

TEST_F(LockedStoreTest, ALockThatOutlastsTheProgramIsReported) {
  const pid_t pid = start([this] { note_scope(); });
  while (recorder_->progress().phases == 0) tick();
  lock_store();
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) tick();
  recorder_->program_ended(pid, status, "program");
  const Status finished = recorder_->finish();
  EXPECT_EQ(finished.kind(), ErrorKind::kBusy);
  EXPECT_THAT(finished.message(), ::testing::HasSubstr("another program kept it locked"));
  unlock_store();
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->is_cut_off());
  EXPECT_EQ((*reader)->phases()->size(), 1U);
}

}  // namespace
}  // namespace stepscope
