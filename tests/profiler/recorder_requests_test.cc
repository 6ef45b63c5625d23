// What others ask the recorder of `stepscope run` for while it records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "profiler/channel/client.h"
#include "profiler/recorder/run_recorder.h"
#include "tests/profiler/recorded_program.h"

namespace stepscope {
namespace {

class RecorderRequestsTest : public testing::RecordedProgram {};

TEST_F(RecorderRequestsTest, ItAnswersWhoAsks) {
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

TEST_F(RecorderRequestsTest, TheStatusOfOneProcessIsInTheSingular) {
  record([this] {
    note_scope();
    const auto said = ask_recorder(recorder_->socket_path(), ControlCommand::kStatus);
    const bool is_one = said.ok() && said->find(", 1 process, ") != std::string::npos;
    _exit(is_one ? 42 : 1);
  });
  EXPECT_EQ((*reader_->process_ends()).at(0).code, 42);
}

// The process sees the switch by itself: nothing waits for it.
TEST_F(RecorderRequestsTest, TheOpsOfOneRankAreRecordedOnRequest) {
  const pid_t pid = start([this] {
    setenv("RANK", "5", 1);
    note_scope();
    const auto is_on = [] { return ring_registry().region().header->ops_switch == OpsSwitch::kOn; };
    for (int i = 0; i < 10'000 && !is_on(); ++i) usleep(1000);
    _exit(is_on() ? 42 : 2);
  });
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    recorder_->wait({});
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
TEST_F(RecorderRequestsTest, ABackwardPassIsEnoughToFollowTheRecorder) {
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
