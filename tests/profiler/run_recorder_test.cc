// Programs that come to the recorder of `stepscope run`, note events and end in many ways.
#include "profiler/recorder/run_recorder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/channel/client.h"
#include "tests/profiler/recorded_program.h"
#include "tests/random_runs.h"

namespace stepscope {
namespace {

class RunRecorderTest : public testing::RecordedProgram {};

// Shared memory of this process, in KiB.
std::int64_t shared_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssShmem:")) return std::stoll(line.substr(9));
  }
  return -1;
}

// Calls `work` while `count` threads are there, each of which has called `begin`.
void beside_threads(int count, const std::function<void()>& begin,
                    const std::function<void()>& work) {
  std::barrier all(count + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      begin();
      all.arrive_and_wait();
      all.arrive_and_wait();
    });
  }
  all.arrive_and_wait();
  work();
  all.arrive_and_wait();
  for (auto& thread : threads) thread.join();
}

TEST_F(RunRecorderTest, AProgramsEventsAreStored) {
  record([this] {
    for (int i = 0; i < 1000; ++i) {
      note_scope();
      note_op();
    }
    Session::get().mark_exit(0);
  });
  EXPECT_EQ(reader_->processes().size(), 1U);
  EXPECT_EQ((*reader_->phases()).size(), 1000U);
  EXPECT_EQ(*reader_->op_count(), 1000);
  expect_all_stored();
}

// As of a server with a thread for each client: only what they note takes memory.
TEST_F(RunRecorderTest, AThreadThatNotesLittleTakesLittleMemory) {
  constexpr int kThreads = 200;
  const int status = record([this] {
    std::int64_t mib = 0;
    beside_threads(kThreads, [this] { note_op(); }, [&mib] { mib = shared_kib() / 1024; });
    _exit(static_cast<int>(std::min<std::int64_t>(mib, 255)));
  });
  EXPECT_LT(WEXITSTATUS(status), 16 * 2 + kThreads / 10);
  EXPECT_EQ(*reader_->op_count(), kThreads);
  EXPECT_EQ(stored_lost(), 0);
}

// Its ring gets memory as it is filled, and is then used anew.
TEST_F(RunRecorderTest, ALateThreadMayNoteMuch) {
  constexpr int kOthers = 20, kOps = 200'000;
  record([this] {
    const auto note_much = [this] {
      std::thread([this] {
        for (int i = 0; i < kOps; ++i) {
          note_op();
          const RingHeader& ring = current_thread()->ring();
          while (ring.head - ring.tail > 50'000) usleep(1000);
        }
      }).join();
    };
    beside_threads(kOthers, [this] { note_op(); }, note_much);
  });
  EXPECT_EQ(*reader_->op_count(), kOthers + kOps);
  EXPECT_EQ(stored_lost(), 0);
}

// As when the recorder is stopped: the first child waits for it in vain, the others know.
TEST_F(RunRecorderTest, ASilentRecorderIsWaitedForOnce) {
  void* shared = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* is_silent = new (shared) std::atomic<bool>(false);
  const pid_t pid = start([this, is_silent] {
    note_scope();
    while (!*is_silent) usleep(1000);
    std::vector<std::chrono::nanoseconds> took;
    for (int i = 0; i < 4; ++i) {
      const auto began = std::chrono::steady_clock::now();
      const pid_t child = fork();
      if (child == 0) {
        note_scope();
        _exit(0);
      }
      waitpid(child, nullptr, 0);
      took.push_back(std::chrono::steady_clock::now() - began);
    }
    // Each would take as long as the first.
    _exit(took[1] + took[2] + took[3] < took[0] ? 0 : 1);
  });
  while (recorder_->progress().phases == 0) {
    recorder_->wait(-1);
    recorder_->tick();
  }
  *is_silent = true;
  int status = 0;
  waitpid(pid, &status, 0);  // the recorder does nothing meanwhile
  munmap(shared, sizeof(std::atomic<bool>));
  finish(pid, status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ((*reader_->losses()).size(), 1U);
  EXPECT_EQ((*reader_->losses())[0].kind, "process");
  EXPECT_EQ(stored_lost(), 4);
}

TEST_F(RunRecorderTest, OnceTheRecorderIsBackChildrenAreRecorded) {
  record([this] {
    note_scope();
    RegionHeader& region = *ring_registry().region().header;
    region.silent_beat = region.heartbeat.load();
    const std::uint64_t silent = region.silent_beat;
    while (region.heartbeat == silent) usleep(1000);
    const pid_t child = fork();
    if (child == 0) {
      note_scope();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  });
  EXPECT_EQ(reader_->processes().size(), 2U);
  EXPECT_EQ(stored_lost(), 0);
}

// A recorder without a descriptor to spare refuses at once, counts all, and tells of some.
TEST_F(RunRecorderTest, ProcessesAreRefusedWhenNoFileCanBeOpened) {
  if (testing::kSanitized) {
    GTEST_SKIP() << "a sanitizer opens files too, and takes their lack for an error of ours";
  }
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<OwnedFd> others;
  while (OwnedFd other{open("/dev/null", O_RDONLY | O_CLOEXEC)}) others.push_back(std::move(other));
  const pid_t pid = start([this, &before] {
    setrlimit(RLIMIT_NOFILE, &before);
    note_scope();
    for (int i = 0; i < 5; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        note_scope();
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
  });
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) recorder_->tick();
  setrlimit(RLIMIT_NOFILE, &before);
  others.clear();
  finish(pid, status);
  EXPECT_EQ(stored_lost(), 6);
  const auto told = recorder_->take_notices();
  const auto one = ::testing::HasSubstr("is not recorded");
  EXPECT_THAT(told,
              ::testing::ElementsAre(one, one, one, "3 more of its processes are not recorded"));
}

// Loaders start workers anew in each epoch: what an ended process has is given back at once.
TEST_F(RunRecorderTest, ProcessesMayComeAndGoWithoutEnd) {
  constexpr int kProcesses = 60;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  record([this] {
    note_scope();
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        note_scope();
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
  });
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(recorder_->take_notices(), ::testing::IsEmpty());
  EXPECT_EQ(reader_->processes().size(), 1U + kProcesses);
  expect_all_stored();
}

// On a slow disk, for as long as it writes the store's pages through.
TEST_F(RunRecorderTest, ARecorderThatIsBusyForAWhileIsWaitedFor) {
  record([this] { note_scope(); }, std::chrono::milliseconds(1500));
  EXPECT_EQ((*reader_->phases()).size(), 1U);
}

// A commit may take longer than a ring lasts.
TEST_F(RunRecorderTest, RingsAreEmptiedWhileTheRecorderIsBusy) {
  constexpr int kSlots = kDefaultRingBytes / sizeof(Slot);
  const pid_t pid = start([this] {
    note_scope();
    for (int quarter = 0; quarter < 12; ++quarter) {
      for (int i = 0; i < kSlots / 4; ++i) note_op();
      const RingHeader& ring = current_thread()->ring();
      for (int ms = 0; ring.tail != ring.head; ++ms) {
        if (ms == 20'000) _exit(1);
        usleep(1000);
      }
    }
  });
  while (recorder_->progress().processes == 0) {
    recorder_->wait(-1);
    recorder_->tick();
  }
  int status = 0;
  waitpid(pid, &status, 0);  // the recorder does nothing meanwhile
  finish(pid, status);
  EXPECT_EQ(status, 0) << "nobody emptied the ring";
  EXPECT_EQ(*reader_->op_count(), 12 * (kSlots / 4));
  EXPECT_EQ(stored_lost(), 0);
}

// The promise: what was written to a ring is in the store, whatever the program dies of.
TEST_F(RunRecorderTest, NothingWrittenIsLostWithTheProgram) {
  const int status = record([this] {
    for (int i = 0;; ++i) {
      note_scope();
      for (int op = 0; op < i % 7; ++op) note_op();
      if (i == 3000) raise(SIGKILL);
    }
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  expect_all_stored();
  const auto ends = reader_->process_ends();
  ASSERT_TRUE(ends.ok());
  ASSERT_EQ(ends->size(), 1U);
  EXPECT_EQ((*ends)[0].how, EndKind::kSignal);
  EXPECT_EQ((*ends)[0].code, SIGKILL);
}

// What samples the lines reads the regions of the programs until the last moment.
TEST_F(RunRecorderTest, ARecorderMayGoBeforeItsPrograms) {
  for (int i = 0; i < 20; ++i) {
    if (recorder_ == nullptr) recorder_ = *RunRecorder::start(path_, {}, {});
    const pid_t pid = start([this] {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      note_scope();
      pause();
    });
    while (recorder_->progress().phases == 0) {
      recorder_->wait(-1);
      recorder_->tick();
    }
    recorder_.reset();
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    std::filesystem::remove(path_);
  }
}

// Each with a moment of its own, while it joins or long after.
class KilledAtAnyMoment : public RunRecorderTest, public ::testing::WithParamInterface<unsigned> {};

TEST_P(KilledAtAnyMoment, NothingThatWasWrittenIsMissing) {
  const auto after_us = std::mt19937(GetParam())() % 20'000;
  const int status = record([this, after_us] {
    const pid_t self = getpid();
    if (fork() == 0) {  // it joins no recording: it notes nothing
      usleep(static_cast<useconds_t>(after_us));
      kill(self, SIGKILL);
      _exit(0);
    }
    while (true) {
      note_scope();
      note_op();
    }
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  expect_all_stored();
}

INSTANTIATE_TEST_SUITE_P(Moments, KilledAtAnyMoment, ::testing::Range(0U, 20U));

TEST_F(RunRecorderTest, TheOpItDiedInIsTold) {
  record([this] {
    note_scope();
    ThreadRecorder* recorder = current_thread();
    recorder->start_op({this, "outer", -1, 0, OpScope::kFunction});
    recorder->start_op({path_.data(), "inner", -1, 0, OpScope::kFunction});
    std::abort();
  });
  const auto open = reader_->unfinished_ops();
  ASSERT_TRUE(open.ok());
  ASSERT_EQ(open->size(), 2U);
  EXPECT_EQ(reader_->text((*open)[0].name), "outer");
  EXPECT_EQ(reader_->text((*open)[1].name), "inner");
}

TEST_F(RunRecorderTest, ManyShortThreadsShareFewRings) {
  record([this] {
    for (int i = 0; i < 500; ++i) std::thread([this] { note_scope(); }).join();
    Session::get().mark_exit(0);
  });
  EXPECT_EQ((*reader_->phases()).size(), 500U);
  EXPECT_EQ(stored_lost(), 0);
}

TEST_F(RunRecorderTest, ThreadsThatLiveTogetherLoseNothing) {
  record([this] {
    for (int group = 0; group < 10; ++group) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 8; ++i) {
        threads.emplace_back([this] {
          for (int k = 0; k < 20; ++k) note_op();
          note_scope();
        });
      }
      for (auto& thread : threads) thread.join();
    }
    Session::get().mark_exit(0);
  });
  EXPECT_EQ((*reader_->phases()).size(), 80U);
  EXPECT_EQ(*reader_->op_count(), 10 * 8 * 20);
  EXPECT_EQ(stored_lost(), 0);
}

// It is made before what we keep for a thread, and so destroyed after it.
TEST_F(RunRecorderTest, ADestructorAtTheEndOfAThreadIsRecorded) {
  struct NotesAtTheEnd {
    std::function<void()> note;
    ~NotesAtTheEnd() { note(); }
  };
  record([this] {
    for (int i = 0; i < 5; ++i) {
      std::thread([this] {
        thread_local const NotesAtTheEnd late{[this] { note_scope(); }};
        note_scope();
      }).join();
    }
    Session::get().mark_exit(0);
  });
  EXPECT_EQ((*reader_->phases()).size(), 10U);
  EXPECT_EQ(stored_lost(), 0);
}

TEST_F(RunRecorderTest, AForkBesideBusyThreads) {
  constexpr unsigned kForks = testing::random_runs(16);
  const int status = record([this] {
    note_scope();  // joined before it has threads, as programs are
    std::atomic<bool> stop{false};
    std::vector<std::thread> busy;
    for (int i = 0; i < 3; ++i) {
      busy.emplace_back([this, &stop] {
        for (; !stop; usleep(100)) note_op();
      });
    }
    int failed = 0;
    for (unsigned i = 0; i < kForks; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        for (int k = 0; k < 7; ++k) note_scope();
        _exit(0);
      }
      int child_status = 0;
      waitpid(child, &child_status, 0);
      failed += child_status != 0 ? 1 : 0;
    }
    stop = true;
    for (auto& thread : busy) thread.join();
    _exit(failed);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(reader_->processes().size(), 1 + kForks);
  EXPECT_EQ((*reader_->phases()).size(), 1 + 7 * kForks);
}

// A forked child is a process of its own: it writes into a region of its own, never the parent's.
TEST_F(RunRecorderTest, AForkedChildIsRecordedBesideItsParent) {
  record([this] {
    note_scope();
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 10; ++i) note_scope();
      Session::get().mark_exit(0);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    note_scope();
    Session::get().mark_exit(0);
  });
  EXPECT_EQ(reader_->processes().size(), 2U);
  EXPECT_EQ((*reader_->phases()).size(), 12U);
}

// As subprocesses are started; its end is not that of its parent.
void end_a_child_that_shares_memory() {
  if (vfork() != 0) return;
  Session::get().mark_exit(3);
  _exit(3);
}

// Of a process that is not the recorder's child it is known only whether it asked for its end.
TEST_F(RunRecorderTest, HowAGrandchildEnds) {
  record([this] {
    for (const bool asks : {true, false}) {
      const pid_t child = fork();
      if (child == 0) {
        note_scope();
        end_a_child_that_shares_memory();
        if (!asks) raise(SIGKILL);
        Session::get().mark_exit(7);
        _exit(7);
      }
      waitpid(child, nullptr, 0);
    }
    note_scope();
  });
  const auto ends = reader_->process_ends();
  ASSERT_TRUE(ends.ok());
  std::vector<std::pair<EndKind, std::int64_t>> told;
  for (const ProcessEnd& end : *ends) told.emplace_back(end.how, end.code);
  using ::testing::Pair;
  EXPECT_THAT(told,
              ::testing::UnorderedElementsAre(Pair(EndKind::kExit, 7), Pair(EndKind::kSignal, 0),
                                              Pair(EndKind::kExit, 0)));
}

TEST_F(RunRecorderTest, TheUsersOwnRecordingLeavesItToTheWrapper) {
  const int status = record([this] {
    stepscope_options options{};
    options.output = "/nowhere/run.db";
    if (!Session::get().start(options).ok()) _exit(1);
    note_scope();
    if (!Session::get().stop().ok()) _exit(2);
    note_scope();
    Session::get().mark_exit(0);
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ((*reader_->phases()).size(), 2U);
}

TEST_F(RunRecorderTest, ARecorderThatIsNotThereIsNoHarm) {
  setenv(kSocketVariable, "/nowhere/socket", 1);
  const pid_t pid = fork();
  if (pid == 0) {
    Session::get().step();
    _exit(Session::get().active() ? 1 : 0);
  }
  unsetenv(kSocketVariable);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RunRecorderTest, ItAnswersWhoAsks) {
  std::string answer;
  record([this] {
    for (int i = 0; i < 5; ++i) note_scope();
    const auto said = ask_recorder(recorder_->socket_path(), ControlCommand::kStartOps);
    if (!said.ok()) _exit(1);
    Session::get().step();
    _exit(ring_registry().region().header->ops_switch == OpsSwitch::kOn ? 42 : 2);
  });
  const auto ends = reader_->process_ends();
  ASSERT_EQ(ends->size(), 1U);
  EXPECT_EQ((*ends)[0].code, 42);
}

// The process sees the switch by itself: nothing waits for it.
TEST_F(RunRecorderTest, TheOpsOfOneRankAreRecordedOnRequest) {
  const pid_t pid = start([this] {
    setenv("RANK", "5", 1);
    note_scope();
    const auto is_on = [] { return ring_registry().region().header->ops_switch == OpsSwitch::kOn; };
    for (int i = 0; i < 10'000 && !is_on(); ++i) usleep(1000);
    _exit(is_on() ? 42 : 2);
  });
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    recorder_->wait(-1);
    recorder_->tick();
    recorder_->record_ops_block(4);  // no process has this rank
    if (recorder_->progress().phases > 0) recorder_->record_ops_block(5);
  }
  finish(pid, status);
  EXPECT_EQ((*reader_->process_ends()).at(0).code, 42);
  EXPECT_THAT(reader_->meta(kOpsBlocksMeta).value_or(""),
              ::testing::MatchesRegex("5:[0-9]+-[0-9]+"));
}

// A loop may have nothing that tells of its steps until its ops are recorded.
TEST_F(RunRecorderTest, ABackwardPassIsEnoughToFollowTheRecorder) {
  record([this] {
    note_scope();
    Session& session = Session::get();
    if (!session.records_ops()) _exit(1);
    const auto said = ask_recorder(recorder_->socket_path(), ControlCommand::kStopOps);
    if (!said.ok()) _exit(2);
    session.end_phase(session.begin_phase(PhaseKind::kBackward, ""), PhaseKind::kBackward);
    _exit(session.records_ops() ? 3 : 42);
  });
  EXPECT_EQ((*reader_->process_ends()).at(0).code, 42);
}

// Who finds no heartbeat takes the recorder for dead.
TEST(ListenerTest, AProgramIsGivenALivingRecorder) {
  auto listener = Listener::open();
  ASSERT_TRUE(listener.ok());
  setenv(kSocketVariable, (*listener)->path().c_str(), 1);
  std::uint64_t seen = 0;
  std::thread program([&] {
    const Region region = connect_to_recorder(nullptr);
    if (region && region.header->patience_ticks == 1'000) seen = region.header->heartbeat;
    unmap_region(region);
  });
  Result<std::optional<Listener::Arrival>> arrival = std::optional<Listener::Arrival>();
  while (arrival.ok() && !arrival->has_value())
    arrival = (*listener)->accept(lay_out_region(0), RecordPlan{}, 1'000);
  program.join();
  unsetenv(kSocketVariable);
  ASSERT_TRUE(arrival.ok());
  EXPECT_EQ(seen, 1U);
  unmap_region((*arrival)->region);
}

// A store from elsewhere may name a socket at which somebody listens and says nothing.
TEST(AskRecorderTest, WhoDoesNotAnswerIsNotWaitedForForEver) {
  const std::string path = ::testing::TempDir() + "/silent-" + std::to_string(getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const OwnedFd silent(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(silent.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(silent.get(), 1), 0);
  const auto said = ask_recorder(path, ControlCommand::kStatus, std::chrono::seconds(1));
  unlink(path.c_str());
  ASSERT_FALSE(said.ok());
  EXPECT_THAT(said.status().message(), ::testing::HasSubstr("the recorder did not answer"));
}

}  // namespace
}  // namespace stepscope
