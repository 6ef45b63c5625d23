#include "profiler/recorder/decoder.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/profiler/test_ring.h"

namespace stepscope {
namespace {

// A ring filled slot by slot with the times we want, in ns since the reader was made. What the
// ring's recorder writes lies after that too, whatever the processor's counter says.
class DecoderTest : public testing::Test {
 protected:
  void put(const Slot& slot) {
    producer_.slot(0) = slot;
    producer_.publish(1);
  }
  void put_op(std::uint64_t start, std::uint64_t end, std::uint8_t depth) {
    Slot slot{};
    slot.op = {SlotKind::kOp, 0, 0, depth, NameId::kNone, at(start), at(end), kNoSequence, 0};
    put(slot);
  }
  [[nodiscard]] std::uint64_t at(std::uint64_t ns) const { return to_count(first_) + ns; }

  TestRing ring_;
  RingProducer producer_{ring_.header()};
  const Ticks first_ = read_ticks();
  TestDecoder reader_{ring_.header(), first_};
};

TEST_F(DecoderTest, SelfTimeIsWhatNoChildTook) {
  put_op(110, 120, 2);  // grandchild
  put_op(105, 130, 1);
  put_op(140, 160, 1);
  put_op(100, 200, 0);
  put_op(300, 310, 0);  // the next op knows nothing of those
  const std::vector<Op> ops = reader_.decode().ops;
  ASSERT_EQ(ops.size(), 5U);
  EXPECT_EQ(to_ns(ops[0].self), 10);
  EXPECT_EQ(to_ns(ops[1].self), 25 - 10);
  EXPECT_EQ(to_ns(ops[2].self), 20);
  EXPECT_EQ(to_ns(ops[3].self), 100 - 25 - 20);
  EXPECT_EQ(to_ns(ops[4].self), 10);
}

TEST_F(DecoderTest, SelfTimesGoOnAcrossBatches) {
  put_op(110, 120, 1);
  reader_.decode();
  put_op(100, 200, 0);
  EXPECT_EQ(to_ns(reader_.decode().ops[0].self), 90);
}

TEST_F(DecoderTest, AbsentSequenceIsMinusOne) {
  ring_.op("a", -1);
  ring_.op("b", 0);
  // ring_ has a producer of its own; what producer_ wrote is not used in this test.
  const std::vector<Op> ops = reader_.decode().ops;
  EXPECT_EQ(ops[0].sequence, -1);
  EXPECT_EQ(ops[1].sequence, 0);
}

TEST_F(DecoderTest, ShapesBelongToTheirOp) {
  ring_.recorder().start_op({this, "aten::mm", -1, 0, OpScope::kFunction}, "[[64,784],[784,10]]");
  ring_.recorder().end_op(this);
  ring_.op("aten::relu");
  const std::vector<Op> ops = reader_.decode().ops;
  EXPECT_EQ(reader_.text(ops[0].shapes), "[[64,784],[784,10]]");
  EXPECT_EQ(ops[1].shapes, StringId::kNone);
}

TEST_F(DecoderTest, AForeignOpIsTheThreadsThatBeganIt) {
  ring_.recorder().foreign_op({this, "future", -1, 0, OpScope::kUser}, Ticks{at(5)}, 42);
  ring_.recorder().foreign_op({this, "future", -1, 0, OpScope::kUser}, Ticks{at(5)},
                              43);  // unknown
  const std::vector<Op> ops = reader_.decode().ops;
  EXPECT_EQ(ops[0].thread, ThreadId{42});
  EXPECT_EQ(to_ns(ops[0].start), 5);
  EXPECT_EQ(ops[1].thread, ThreadId{7}) << "where the beginner is unknown, who ended it";
}

TEST_F(DecoderTest, NamesOfEveryLengthComeThrough) {
  for (const std::size_t length : {1U, 19U, 20U, 21U, 51U, 52U, 53U, 84U, 500U, kMaxNameLength}) {
    const std::string name(length, 'n');
    ring_.op(name.c_str());
    EXPECT_EQ(reader_.text(reader_.decode().ops.at(0).name), name);
  }
}

TEST_F(DecoderTest, CallsOfModulesHaveTheirNamesDepthAndMemory) {
  ThreadRecorder& recorder = ring_.recorder();
  const std::uint32_t outer = recorder.begin_module("Net\n\nNet", 100);
  const std::uint32_t inner = recorder.begin_module("Net\nlayer.0\nLinear", 200);
  recorder.end_module(inner, 250);
  recorder.end_module(outer, kHeldUnknown);
  const DecodedEvents events = reader_.decode();
  ASSERT_EQ(events.modules.size(), 2U);
  EXPECT_EQ(reader_.text(events.modules[0].root), "Net");
  EXPECT_EQ(reader_.text(events.modules[0].name), "layer.0");
  EXPECT_EQ(reader_.text(events.modules[0].class_name), "Linear");
  EXPECT_EQ(events.modules[0].depth, 1);
  EXPECT_EQ(events.modules[0].held_bytes, 50);
  EXPECT_EQ(reader_.text(events.modules[1].name), "");
  EXPECT_EQ(events.modules[1].held_bytes, std::nullopt);
  EXPECT_LE(events.modules[1].start, events.modules[0].start);
  EXPECT_TRUE(events.ops.empty() && events.phases.empty());
}

TEST_F(DecoderTest, ACallWithoutADefinedModuleIsCorrupt) {
  Slot slot{};
  slot.module = {SlotKind::kModule, 0, 0, 0, NameId{5}, at(1), at(2), 0};
  put(slot);
  EXPECT_TRUE(reader_.decode().modules.empty());
  EXPECT_EQ(reader_.decoder().corrupt_slots(), 1);
}

TEST_F(DecoderTest, CorruptSlotsAreCountedAndSkipped) {
  Slot unknown{};
  unknown.kind = SlotKind{99};
  put(unknown);
  Slot name{};
  name.name = {SlotKind::kName, {}, NameId{1}, kMaxNameLength + 1, {}};  // too long
  put(name);
  name.name = {SlotKind::kName, {}, NameId{1}, 1, "a"};  // fine
  put(name);
  name.name = {SlotKind::kName, {}, NameId{9}, 1, "b"};  // not the next number
  put(name);
  name.name = {SlotKind::kName, {}, NameId{2}, 100, {}};  // runs past what was published
  put(name);
  Slot phase{};
  phase.phase = {SlotKind::kPhase, 200, 0, NameId::kNone, 0, 0, 0};
  put(phase);
  EXPECT_EQ(reader_.decode().ops.size(), 0U);
  EXPECT_EQ(reader_.decoder().corrupt_slots(), 5);
  put_op(1, 2, 0);
  EXPECT_EQ(reader_.decode().ops.size(), 1U);
}

// What a program that has gone wild may leave: the store refuses such an op when it is read.
TEST_F(DecoderTest, AnOpIsInNoPhaseThatIsAnInstant) {
  for (const PhaseKind phase : {PhaseKind::kSampler, PhaseKind::kOpsBegin, PhaseKind{200}}) {
    Slot slot{};
    slot.op.kind = SlotKind::kOp;
    slot.op.start = at(0);
    slot.op.end = at(10);
    slot.op.phase = static_cast<std::uint8_t>(phase);
    put(slot);
    const PhaseKind stored = reader_.decode().ops.at(0).phase;
    EXPECT_EQ(stored, phase == PhaseKind::kSampler ? phase : PhaseKind::kNone);
  }
}

// Two processors' TSCs may differ by a little; by an hour they do not.
TEST_F(DecoderTest, AnOpThatEndsBeforeItBeginsLastsNothing) {
  put_op(200, 100, 0);
  EXPECT_EQ(to_ns(reader_.decode().ops.at(0).dur), 0);
  put_op(3'600'000'000'000, 100, 0);
  EXPECT_TRUE(reader_.decode().ops.empty());
  EXPECT_EQ(reader_.decoder().corrupt_slots(), 1);
}

TEST_F(DecoderTest, NamesGoOnWhereAnEarlierRecordingLeftOff) {
  ring_.op("aten::add");
  ring_.op("aten::mul");
  reader_.consumer().release(reader_.consumer().published().end);
  ring_.recorder().begin_session(2, 0);
  ring_.op("aten::mul");
  const std::vector<Op> ops = reader_.decode().ops;
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(reader_.text(ops[0].name), "aten::mul");
}

// Whatever bytes a wild program leaves: no crash, and times that can be stored.
TEST_F(DecoderTest, SurvivesRandomBytes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Slot slot;
    std::uint64_t words[4] = {random(), random(), random(), random()};
    std::memcpy(static_cast<void*>(&slot), words, sizeof(slot));
    if (round % 2 == 0) slot.kind = SlotKind{static_cast<std::uint8_t>(random() % 7)};
    put(slot);
    for (const Op& op : reader_.decode().ops) {
      EXPECT_GE(op.dur, Duration{0});
      EXPECT_LE(op.self, op.dur);
    }
  }
}

}  // namespace
}  // namespace stepscope
