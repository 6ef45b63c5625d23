#include "profiler/cupti/activity_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/profiler/cupti/activity_buffer.h"

namespace stepscope {
namespace {

using testing::ElementsAre;

// The same records at the lengths of each CUPTI: what is read of them is the same.
class ActivityDecoderTest : public testing::TestWithParam<RecordSizes> {
 protected:
  void kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end) {
    KernelRecord record{};
    record.registers = 32;
    record.start = start;
    record.end = end;
    record.device = 1;
    record.context = 2;
    record.stream = 7;
    record.grid[0] = 50;
    record.grid[1] = 2;
    record.grid[2] = 1;
    record.block[0] = 256;
    record.block[1] = record.block[2] = 1;
    record.static_shared_bytes = 1024;
    record.dynamic_shared_bytes = 512;
    record.correlation = correlation;
    record.name = 0x7f0000001234;
    record.graph = 3;
    record.graph_node = 0x300000005;
    buffer_.put(ActivityKind::kKernel, record);
  }
  void call(ActivityKind kind, std::uint32_t tid, std::uint64_t start, std::uint64_t end) {
    buffer_.put(kind, ApiRecord{0, 211, start, end, 1, tid, 99, 0});
  }
  void sync(std::uint32_t stream) {
    buffer_.put(ActivityKind::kSync, SyncRecord{0, 3, 10, 30, 5, 2, stream, kNoCuptiId});
  }
  const DeviceEvents& decode() {
    decoder_.decode(buffer_.bytes(), clock_, events_);
    return events_;
  }

  ActivityBuffer buffer_{GetParam()};
  TestActivityContext context_;
  ActivityDecoder decoder_{GetParam(), context_};
  ClockMap clock_ = tick_clock();
  DeviceEvents events_;
};

TEST_P(ActivityDecoderTest, AKernel) {
  kernel(41, 100, 160);
  const auto& kernels = decode().kernels;
  ASSERT_EQ(kernels.size(), 1U);
  const Kernel& one = kernels[0];
  EXPECT_EQ(to_ns(one.start), 100);
  EXPECT_EQ(to_ns(one.dur), 60);
  EXPECT_EQ(one.correlation, 41);
  EXPECT_EQ(one.name, StringId{0x1234});
  EXPECT_THAT(one.grid, ElementsAre(50, 2, 1));
  EXPECT_THAT(one.block, ElementsAre(256, 1, 1));
  EXPECT_EQ(one.registers, 32);
  EXPECT_EQ(one.static_shared_bytes, 1024);
  EXPECT_EQ(one.dynamic_shared_bytes, 512);
  EXPECT_EQ(one.graph, 3);
  EXPECT_EQ(one.graph_node, 0x300000005);
  EXPECT_THAT(context_.streams, ElementsAre(testing::Pair(std::tuple(1, 2, 7), one.stream)));
}

TEST_P(ActivityDecoderTest, CopiesAndMemsets) {
  buffer_.put(ActivityKind::kCopy, CopyRecord{0, 1, 1, 3, 0, 4096, 10, 20, 0, 1, 7, 5});
  buffer_.put(ActivityKind::kPeerCopy,
              PeerCopyRecord{0, 10, 3, 3, 0, 8192, 30, 45, 0, 1, 9, 0, 1, 1, 2, 6});
  buffer_.put(ActivityKind::kMemset, MemsetRecord{0, 0, 64, 50, 51, 0, 1, 7, 8});
  decode();
  ASSERT_EQ(events_.copies.size(), 2U);
  EXPECT_EQ(events_.copies[0].kind, CopyKind::kHostToDevice);
  EXPECT_EQ(events_.copies[0].source, MemoryKind::kPageable);
  EXPECT_EQ(events_.copies[0].target, MemoryKind::kDevice);
  EXPECT_EQ(events_.copies[0].bytes, 4096);
  EXPECT_EQ(events_.copies[0].correlation, 5);
  EXPECT_EQ(events_.copies[1].kind, CopyKind::kPeerToPeer);
  EXPECT_EQ(events_.copies[1].correlation, 6);
  EXPECT_EQ(to_ns(events_.copies[1].dur), 15);
  ASSERT_EQ(events_.memsets.size(), 1U);
  EXPECT_EQ(events_.memsets[0].bytes, 64);
  EXPECT_EQ(events_.memsets[0].correlation, 8);
  EXPECT_EQ(events_.memsets[0].stream, events_.copies[0].stream);
}

TEST_P(ActivityDecoderTest, ACallIsItsThreads) {
  call(ActivityKind::kRuntimeCall, 77, 100, 140);
  const auto& calls = decode().calls;
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].thread, ThreadId{77});
  EXPECT_EQ(calls[0].name, StringId{211});
  EXPECT_EQ(to_ns(calls[0].start), 100);
  EXPECT_EQ(to_ns(calls[0].dur), 40);
  EXPECT_EQ(calls[0].correlation, 99);
}

TEST_P(ActivityDecoderTest, WhatTheRuntimeAsksOfTheDriverIsOneCall) {
  call(ActivityKind::kDriverCall, 77, 110, 130);  // inside the runtime's, which ends later
  call(ActivityKind::kRuntimeCall, 77, 100, 140);
  call(ActivityKind::kDriverCall, 77, 150, 160);  // by the program itself
  call(ActivityKind::kDriverCall, 78, 110, 130);  // on another thread
  decode();
  ASSERT_EQ(events_.calls.size(), 3U);
  EXPECT_EQ(events_.calls[0].name, StringId{211});
  EXPECT_EQ(to_ns(events_.calls[1].start), 150);
  EXPECT_EQ(events_.calls[1].name, StringId{10'211});
  EXPECT_EQ(events_.calls[2].thread, ThreadId{78});
}

// On a GPU the wait of one thread came before the context, which was in the buffer of another.
TEST_P(ActivityDecoderTest, AWaitIsItsContextsDevice) {
  sync(7);
  EXPECT_TRUE(decode().syncs.empty()) << "nothing is known of the context";
  EXPECT_EQ(decoder_.bad_records(), 0) << "it may still come";
  ActivityBuffer told(GetParam());
  told.put(ActivityKind::kContext, ContextRecord{0, 2, 4});
  decoder_.decode(told.bytes(), clock_, events_);
  ASSERT_EQ(events_.syncs.size(), 1U);
  sync(kNoCuptiId);
  decode();  // the first one again, and this one
  ASSERT_EQ(events_.syncs.size(), 3U);
  EXPECT_EQ(events_.syncs[0].device, DeviceId{5});
  EXPECT_NE(events_.syncs[0].stream, StreamId::kNone);
  EXPECT_EQ(events_.syncs[0].kind, SyncKind::kStream);
  EXPECT_EQ(events_.syncs[2].stream, StreamId::kNone) << "for all streams";
  decoder_.give_up_waiting();
  EXPECT_EQ(decoder_.bad_records(), 0);
}

TEST_P(ActivityDecoderTest, AWaitWhoseContextNeverCameIsCounted) {
  sync(7);
  decode();
  decoder_.give_up_waiting();
  EXPECT_TRUE(events_.syncs.empty());
  EXPECT_EQ(decoder_.bad_records(), 1);
}

TEST_P(ActivityDecoderTest, OverheadIsACallOfItsThread) {
  const auto overhead = [this](OverheadType type, std::uint32_t object, std::uint64_t start) {
    buffer_.put(ActivityKind::kOverhead, OverheadRecord{0, static_cast<std::uint32_t>(type), object,
                                                        1, 77, 0, start, start + 30});
  };
  constexpr std::uint32_t kContextObject = 4;
  overhead(OverheadType::kFunctionLoading, kThreadObject, 100);
  overhead(static_cast<OverheadType>(0x7777), kThreadObject, 200);
  overhead(OverheadType::kResource, kContextObject, 300);  // no thread's
  decode();
  ASSERT_EQ(events_.calls.size(), 2U);
  EXPECT_EQ(events_.calls[0].thread, ThreadId{77});
  EXPECT_EQ(to_ns(events_.calls[0].start), 100);
  EXPECT_EQ(to_ns(events_.calls[0].dur), 30);
  EXPECT_EQ(events_.calls[0].correlation, ApiCall().correlation);
  EXPECT_EQ(events_.calls[0].name, StringId{20'001});
  EXPECT_THAT(context_.overheads, ElementsAre("driver: load function", "CUPTI: other overhead"));
}

TEST_P(ActivityDecoderTest, ADeviceTellsWhatItIs) {
  DeviceRecord record{};
  record.memory_bytes = std::uint64_t{80} << 30;
  record.threads_per_warp = 32;
  record.max_warps_per_multiprocessor = 64;
  record.multiprocessors = 132;
  record.shared_bytes_per_multiprocessor = 233'472;
  record.registers_per_multiprocessor = 65'536;
  record.compute_major = 9;
  record.number = 1;
  record.name = 0xabc;
  buffer_.put(ActivityKind::kDevice, record);
  decode();
  const Device& device = context_.described;
  EXPECT_EQ(device.number, 1);
  EXPECT_EQ(device.memory_bytes, std::int64_t{80} << 30);
  EXPECT_EQ(device.max_threads_per_multiprocessor, 2048);
  EXPECT_EQ(device.multiprocessors, 132);
  EXPECT_EQ(device.registers_per_multiprocessor, 65'536);
  EXPECT_EQ(device.shared_bytes_per_multiprocessor, 233'472);
  EXPECT_EQ(device.compute_major, 9);
  EXPECT_EQ(context_.described_name, 0xabcU);
}

TEST_P(ActivityDecoderTest, RecordsWithoutTimesAreCountedAndSkipped) {
  kernel(1, 0, 0);  // CUPTI could not have them
  kernel(2, 200, 100);
  kernel(3, 100, std::uint64_t{1} << 62);
  kernel(4, 100, 100);
  const auto& kernels = decode().kernels;
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].correlation, 4);
  EXPECT_EQ(decoder_.bad_records(), 3);
}

TEST_P(ActivityDecoderTest, AnUnknownKindEndsTheBuffer) {
  kernel(1, 1, 2);
  buffer_.put_bytes(64, std::byte{0x31});
  kernel(2, 3, 4);
  EXPECT_EQ(decode().kernels.size(), 1U);
  EXPECT_EQ(decoder_.bad_records(), 1);
}

TEST_P(ActivityDecoderTest, AHalfWrittenBufferEndsWhereNothingIsWritten) {
  kernel(1, 1, 2);
  buffer_.put_bytes(4096, std::byte{0});
  EXPECT_EQ(decode().kernels.size(), 1U);
  EXPECT_EQ(decoder_.bad_records(), 0);
}

TEST_P(ActivityDecoderTest, ARecordThatTheBufferCutsOffIsNotRead) {
  kernel(1, 1, 2);
  kernel(2, 3, 4);
  decoder_.decode(buffer_.bytes().first(buffer_.bytes().size() - 1), clock_, events_);
  EXPECT_EQ(events_.kernels.size(), 1U);
  EXPECT_EQ(decoder_.bad_records(), 1);
}

TEST_P(ActivityDecoderTest, SizesThatCannotBeAreNotBelieved) {
  RecordSizes sizes = GetParam();
  sizes.bytes[static_cast<std::size_t>(ActivityKind::kKernel)] = 8;
  ActivityDecoder decoder(sizes, context_);
  kernel(1, 1, 2);
  decoder.decode(buffer_.bytes(), clock_, events_);
  EXPECT_EQ(events_.size(), 0U);
  EXPECT_EQ(decoder.bad_records(), 1);
}

TEST_P(ActivityDecoderTest, SurvivesRandomBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> bytes(512);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const ActivityKind kind = kRecordedKinds[random() % std::size(kRecordedKinds)];
    std::memcpy(bytes.data(), &kind, sizeof(kind));
    decoder_.decode(bytes, clock_, events_);
  }
  for (const Kernel& one : events_.kernels) EXPECT_GE(one.dur, Duration{0});
  for (const ApiCall& one : events_.calls) EXPECT_GE(one.dur, Duration{0});
}

std::string name_of_cupti(const testing::TestParamInfo<RecordSizes>& tested) {
  const char* const names[] = {"Cupti11_8", "Cupti12_4", "Cupti13_0", "Cupti13_5"};
  return names[tested.index];
}

INSTANTIATE_TEST_SUITE_P(EachCupti, ActivityDecoderTest,
                         testing::Values(sizes_of_cupti_11_8(), sizes_of_cupti_12_4(),
                                         sizes_of_cupti_13_0(), sizes_of_cupti_13_5()),
                         name_of_cupti);

// A library that walks as CUPTI does, with records of the given lengths.
RecordSizes walked;
int next_of_walked(std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
  if (*record == nullptr) {
    *record = buffer;
    return 0;
  }
  std::uint32_t kind = 0;
  std::memcpy(&kind, *record, sizeof(kind));
  auto* next = static_cast<std::uint8_t*>(*record) + walked.of(kind);
  if (next >= buffer + valid_bytes) return 12;  // CUPTI_ERROR_MAX_LIMIT_REACHED
  *record = next;
  return 0;
}

TEST(RecordSizesTest, AreAskedOfTheLibrary) {
  for (const RecordSizes& sizes : {sizes_of_cupti_11_8(), sizes_of_cupti_12_4(),
                                   sizes_of_cupti_13_0(), sizes_of_cupti_13_5()}) {
    walked = sizes;
    const RecordSizes measured = measure_record_sizes(next_of_walked);
    for (const ActivityKind kind : kRecordedKinds) {
      EXPECT_EQ(measured.of(kind), sizes.of(kind)) << static_cast<int>(kind);
    }
    EXPECT_FALSE(find_unknown_record(measured));
  }
}

TEST(RecordSizesTest, AnUnknownLengthIsRefusedByName) {
  RecordSizes sizes = sizes_of_cupti_13_0();
  sizes.bytes[static_cast<std::size_t>(ActivityKind::kKernel)] = 264;
  const auto unknown = find_unknown_record(sizes);
  ASSERT_TRUE(unknown);
  EXPECT_STREQ(unknown->kind, "kernel");
  EXPECT_EQ(unknown->bytes, 264U);
}

TEST(RecordSizesTest, ALibraryThatRefusesToWalkIsUnknown) {
  const RecordSizes sizes =
      measure_record_sizes([](std::uint8_t*, std::size_t, void**) { return 999; });
  ASSERT_TRUE(find_unknown_record(sizes));
  EXPECT_EQ(find_unknown_record(sizes)->bytes, 0U);
}

}  // namespace
}  // namespace stepscope
