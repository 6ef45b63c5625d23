#include "profiler/ring/thread_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/profiler/test_ring.h"

namespace stepscope {
namespace {

using testing::ElementsAre;

class ThreadRecorderTest : public testing::Test {
 protected:
  void start(const char* name, std::int64_t sequence = -1, OpScope scope = OpScope::kFunction) {
    ring_.recorder().start_op({name, name, sequence, 0, scope});
  }
  void end(const char* name) { ring_.recorder().end_op(name); }
  std::uint64_t lost(LossKind kind) { return ring_.header()->lost[static_cast<int>(kind)]; }

  // The names of the finished ops so far, in order.
  std::vector<std::string> finished() {
    std::vector<std::string> names;
    for (const Op& op : reader_.decode().ops) names.push_back(reader_.text(op.name));
    return names;
  }

  TestRing ring_;
  TestDecoder reader_{ring_.header()};
};

TEST_F(ThreadRecorderTest, OpsComeInTheOrderOfTheirEnds) {
  start("outer");
  start("inner");
  end("inner");
  end("outer");
  EXPECT_THAT(finished(), ElementsAre("inner", "outer"));
}

TEST_F(ThreadRecorderTest, OpenOpsLieInTheRing) {
  start("outer");
  start("inner", 5);
  ASSERT_EQ(ring_.header()->open_depth, 2U);
  EXPECT_EQ(ring_.header()->open_ops[1].sequence, 5U);
  end("inner");
  EXPECT_EQ(ring_.header()->open_depth, 1U);
}

TEST_F(ThreadRecorderTest, AScopeMayEndBeforeWhatItSurrounds) {
  start("scope", -1, OpScope::kUser);
  start("op");
  end("scope");
  end("op");
  EXPECT_THAT(finished(), ElementsAre("scope", "op"));
  EXPECT_EQ(ring_.header()->open_depth, 0U);
}

TEST_F(ThreadRecorderTest, AnOpThatBeganBeforeTheRecordingIsNotOurs) {
  end("unknown");
  start("known");
  end("unknown");
  end("known");
  EXPECT_THAT(finished(), ElementsAre("known"));
}

// What another thread took off (RingRegistry::end_elsewhere) is neither written nor left open.
TEST_F(ThreadRecorderTest, AnOpThatEndedElsewhereIsTakenOff) {
  start("outer");
  start("future");
  ring_.header()->open_ops[1].identity = 0;
  end("outer");
  EXPECT_THAT(finished(), ElementsAre("outer"));
  EXPECT_EQ(ring_.header()->open_depth, 0U);
}

// Under ThreadSanitizer: open ops change places while another thread looks for the one that it
// ended.
TEST_F(ThreadRecorderTest, OpsMayBeTakenOffWhileOthersEndOutOfOrder) {
  constexpr int kRounds = 2000;
  std::atomic<int> round{0};
  std::thread elsewhere([&] {
    for (int i = 1; i <= kRounds; ++i) {
      while (round < i) std::this_thread::yield();
      ring_.recorder().take_off("future");
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    start("scope", -1, OpScope::kUser);
    start("future");
    start("op");
    round = i;
    end("scope");
    end("op");
    end("future");  // where it was not taken off yet
    ASSERT_EQ(ring_.header()->open_depth, 0U);
    finished();
  }
  elsewhere.join();
}

TEST_F(ThreadRecorderTest, TooDeepNestingIsCountedAndUnwinds) {
  for (std::uint32_t i = 0; i < kMaxOpenOps + 10; ++i) start("nested");
  EXPECT_EQ(lost(LossKind::kDepth), 10U);
  for (std::uint32_t i = 0; i < kMaxOpenOps + 10; ++i) end("nested");
  EXPECT_EQ(finished().size(), kMaxOpenOps);
  EXPECT_EQ(ring_.header()->open_depth, 0U);
}

TEST_F(ThreadRecorderTest, AFullRingDropsAndCounts) {
  const std::uint64_t room = ring_.header()->slot_count - kReservedForMarks;
  for (std::uint64_t i = 0; i < room + 100; ++i) ring_.op("aten::add");
  const std::uint64_t written = finished().size();
  EXPECT_GT(written, room - 10);
  EXPECT_EQ(written + lost(LossKind::kOp), room + 100);
  ring_.op("aten::add");  // drained: there is room again
  EXPECT_EQ(finished().size(), 1U);
}

TEST_F(ThreadRecorderTest, AFloodOfOpsCostsNoMark) {
  for (std::uint64_t i = 0; i < 2 * std::uint64_t{ring_.header()->slot_count}; ++i)
    ring_.op("aten::add");
  ring_.recorder().mark(PhaseKind::kStep);
  const DecodedEvents events = reader_.decode();
  ASSERT_EQ(events.phases.size(), 1U);
  EXPECT_EQ(events.phases[0].kind, PhaseKind::kStep);
  EXPECT_EQ(lost(LossKind::kPhase), 0U);
}

// The next mark that fits says where others are missing.
TEST_F(ThreadRecorderTest, LostMarksLeaveTheirTime) {
  const std::uint32_t slots = ring_.header()->slot_count;
  OpenPhase epoch = ring_.recorder().begin_phase(PhaseKind::kScope, "epoch");
  for (std::uint32_t i = 0; i < slots; ++i) ring_.recorder().mark(PhaseKind::kStep);
  const OpenPhase wait = ring_.recorder().begin_phase(PhaseKind::kInput, "");
  ring_.recorder().end_phase(wait);
  ring_.recorder().end_phase(epoch);
  const std::uint64_t missing = lost(LossKind::kPhase);
  EXPECT_GE(missing, 2U);

  const std::vector<Phase> kept = reader_.decode().phases;
  ring_.recorder().mark(PhaseKind::kStep);
  ring_.recorder().mark(PhaseKind::kStep);
  const std::vector<Phase> later = reader_.decode().phases;
  ASSERT_EQ(later.size(), 3U) << "the lost time is written once";
  EXPECT_EQ(later[0].kind, PhaseKind::kLost);
  EXPECT_GE(later[0].start, kept.back().start)
      << "the scope began before, but only its end is lost";
  EXPECT_GT(later[0].dur, Duration{0});
  EXPECT_LE(later[0].start + later[0].dur, later[1].start);
  EXPECT_EQ(later[1].kind, PhaseKind::kStep);
  EXPECT_EQ(lost(LossKind::kPhase), missing) << "it is no mark of the program's";
}

TEST_F(ThreadRecorderTest, ANewSessionForgetsWhatIsOpen) {
  start("old");
  ring_.recorder().begin_session(2, 9);
  EXPECT_EQ(ring_.header()->open_depth, 0U);
  EXPECT_EQ(ring_.header()->torch_id, 9U);
  end("old");
  EXPECT_TRUE(finished().empty());
}

TEST_F(ThreadRecorderTest, ANewSessionDefinesItsNamesAnew) {
  ring_.op("aten::add");
  RingConsumer skipped(ring_.header());
  skipped.release(skipped.published().end);
  ring_.recorder().begin_session(2, 0);
  ring_.op("aten::add");
  EXPECT_THAT(finished(), ElementsAre("aten::add"));
}

TEST_F(ThreadRecorderTest, NamesAreCutAtACharacter) {
  std::string name(kMaxNameLength - 1, 'x');
  name += "é";  // two bytes: the second would be the first too many
  ring_.op(name.c_str());
  EXPECT_THAT(finished(), ElementsAre(std::string(kMaxNameLength - 1, 'x')));
}

class PhaseTest : public ThreadRecorderTest {
 protected:
  // The phase that an op at this moment is said to be in.
  PhaseKind phase_now(std::int64_t sequence = -1) {
    ring_.op("probe", sequence);
    return reader_.decode().ops.back().phase;
  }
  OpenPhase begin(PhaseKind kind) { return ring_.recorder().begin_phase(kind, "name"); }
  void end_phase(const OpenPhase& phase) { ring_.recorder().end_phase(phase); }
};

TEST_F(PhaseTest, AStepGoesThroughItsPhases) {
  const OpenPhase input = begin(PhaseKind::kInput);
  EXPECT_EQ(phase_now(), PhaseKind::kInput);
  end_phase(input);
  EXPECT_EQ(phase_now(), PhaseKind::kForward) << "a batch has come";
  const OpenPhase backward = begin(PhaseKind::kBackward);
  EXPECT_EQ(phase_now(), PhaseKind::kBackward);
  end_phase(backward);
  EXPECT_EQ(phase_now(), PhaseKind::kNone);
  const OpenPhase optimizer = begin(PhaseKind::kOptimizer);
  EXPECT_EQ(phase_now(), PhaseKind::kOptimizer);
  end_phase(optimizer);
  EXPECT_EQ(phase_now(), PhaseKind::kNone);
}

TEST_F(PhaseTest, AClosureReturnsToItsOptimizer) {
  const OpenPhase optimizer = begin(PhaseKind::kOptimizer);
  end_phase(begin(PhaseKind::kBackward));
  EXPECT_EQ(phase_now(), PhaseKind::kOptimizer);
  end_phase(optimizer);
}

TEST_F(PhaseTest, TheForwardPassGoesOnBehindZeroGrad) {
  end_phase(begin(PhaseKind::kInput));
  end_phase(begin(PhaseKind::kZeroGrad));
  EXPECT_EQ(phase_now(), PhaseKind::kForward);
  end_phase(begin(PhaseKind::kBackward));
  end_phase(begin(PhaseKind::kOptimizer));
  end_phase(begin(PhaseKind::kZeroGrad));
  EXPECT_EQ(phase_now(), PhaseKind::kNone) << "cleared last";
}

// A marked closure, as Lightning's: forward, zero_grad, backward.
TEST_F(PhaseTest, AClosureIsAForwardPass) {
  const OpenPhase optimizer = begin(PhaseKind::kOptimizer);
  const OpenPhase closure = begin(PhaseKind::kForward);
  EXPECT_EQ(phase_now(), PhaseKind::kForward);
  end_phase(begin(PhaseKind::kZeroGrad));
  EXPECT_EQ(phase_now(), PhaseKind::kForward);
  end_phase(begin(PhaseKind::kBackward));
  EXPECT_EQ(phase_now(), PhaseKind::kNone);
  end_phase(closure);
  EXPECT_EQ(phase_now(), PhaseKind::kOptimizer);
  end_phase(optimizer);
}

TEST_F(PhaseTest, AScopeIsALabelNotAPhase) {
  end_phase(begin(PhaseKind::kInput));
  const OpenPhase scope = begin(PhaseKind::kScope);
  EXPECT_EQ(phase_now(), PhaseKind::kForward);
  end_phase(scope);
}

TEST_F(PhaseTest, ForwardIsInferredOnceTheSequenceMoves) {
  EXPECT_EQ(phase_now(10), PhaseKind::kNone);
  EXPECT_EQ(phase_now(10), PhaseKind::kNone) << "no autograd node was created";
  EXPECT_EQ(phase_now(11), PhaseKind::kForward);
}

TEST_F(PhaseTest, OpsOfAnAutogradThreadAreBackward) {
  start("node", 3, OpScope::kBackwardFunction);
  start("aten::mm");
  end("aten::mm");
  end("node");
  for (const Op& op : reader_.decode().ops) EXPECT_EQ(op.phase, PhaseKind::kBackward);
}

TEST_F(PhaseTest, AWaitThatFoundTheEndIsToldApart) {
  const OpenPhase wait = begin(PhaseKind::kInput);
  ring_.recorder().end_phase(wait, PhaseKind::kInputEnd);
  const DecodedEvents events = reader_.decode();
  ASSERT_EQ(events.phases.size(), 1U);
  EXPECT_EQ(events.phases[0].kind, PhaseKind::kInputEnd);
  EXPECT_EQ(reader_.text(events.phases[0].name), "name");
}

TEST_F(PhaseTest, AWaitWithinAWaitIsOneWait) {
  const OpenPhase outer = begin(PhaseKind::kInput);
  const OpenPhase inner = begin(PhaseKind::kInput);
  end_phase(inner);
  EXPECT_EQ(phase_now(), PhaseKind::kInput) << "the batch has not come yet";
  ring_.recorder().end_phase(outer, PhaseKind::kInputEnd);
  end_phase(begin(PhaseKind::kInput));
  const DecodedEvents events = reader_.decode();
  ASSERT_EQ(events.phases.size(), 2U);
  EXPECT_EQ(events.phases[0].kind, PhaseKind::kInputEnd);
  EXPECT_EQ(events.phases[1].kind, PhaseKind::kInput) << "the next wait is seen again";
}

TEST_F(PhaseTest, CpuTimeTellsBusyFromBlocked) {
  const OpenPhase busy = begin(PhaseKind::kInput);
  while (read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - busy.cpu_start_ns < 5'000'000) {
  }
  end_phase(busy);
  const OpenPhase blocked = begin(PhaseKind::kInput);
  timespec sleep{0, 20'000'000};
  nanosleep(&sleep, nullptr);
  end_phase(blocked);
  const DecodedEvents events = reader_.decode();
  ASSERT_EQ(events.phases.size(), 2U);
  EXPECT_GE(to_ns(events.phases[0].cpu), 5'000'000);
  EXPECT_LT(events.phases[1].cpu, events.phases[1].dur / 2);
}

// The clock costs more than all else that a phase needs.
TEST_F(PhaseTest, OnlyWaitsAndScopesHaveACpuTime) {
  for (const PhaseKind kind : {PhaseKind::kScope, PhaseKind::kZeroGrad, PhaseKind::kBackward,
                               PhaseKind::kOptimizer, PhaseKind::kSampler}) {
    const std::int64_t begun = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const OpenPhase phase = begin(kind);
    while (read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun < 1'000'000) {
    }
    end_phase(phase);
  }
  const DecodedEvents events = reader_.decode();
  ASSERT_EQ(events.phases.size(), 5U);
  for (const Phase& phase : events.phases) {
    EXPECT_EQ(to_ns(phase.cpu) > 0, phase.kind == PhaseKind::kScope) << phase_name(phase.kind);
  }
}

}  // namespace
}  // namespace stepscope
