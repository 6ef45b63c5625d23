// Devices in a trace: streams, calls, and the arrows between them.
#include "viewer-export/device_tracks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "store/trace_writer.h"
#include "tests/store/assert_ok.h"
#include "tests/store/testing/synthetic_run.h"
#include "viewer-export/chrome_trace.h"
#include "viewer-export/lanes.h"

namespace stepscope {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class DeviceTrace : public ::testing::Test {
 protected:
  void SetUp() override {
    auto writer = TraceWriter::create(path_);
    ASSERT_OK(writer.status());
    writer_ = *std::move(writer);
    Process process;
    process.pid = 4242;
    process.name = "train";
    process_ = *writer_->add_process(process);
    thread_ = add_thread(4242, "python");
    Device device;
    device.process = process_;
    device.number = 3;
    device.name = "V100";
    device_ = *writer_->add_device(device);
    stream_ = *writer_->add_stream({device_, 1, 7});
  }

  ThreadId add_thread(std::int64_t tid, const char* name) {
    Thread thread;
    thread.process = process_;
    thread.tid = tid;
    thread.name = name;
    return *writer_->add_thread(thread);
  }
  void call(const char* name, std::int64_t start, std::int64_t dur, std::uint32_t number = 0) {
    call_on(thread_, name, start, dur, number);
  }
  void call_on(ThreadId thread, const char* name, std::int64_t start, std::int64_t dur,
               std::uint32_t number) {
    const ApiCall call{thread, writer_->intern(name), session_time(start), Duration(dur),
                       id(number)};
    ASSERT_OK(writer_->add(call));
  }
  void kernel(const char* name, std::int64_t start, std::int64_t dur, std::uint32_t number = 0) {
    Kernel kernel{{stream_, session_time(start), Duration(dur), id(number)}};
    kernel.name = writer_->intern(name);
    kernel.grid = {2, 3, 4};
    ASSERT_OK(writer_->add(kernel));
  }
  [[nodiscard]] std::int64_t id(std::uint32_t number) const {
    return number == 0 ? 0 : correlation_of(process_, number);
  }

  void export_run() {
    ASSERT_OK(writer_->finish());
    writer_.reset();
    const auto reader = testing::open_store(path_);
    StringSink sink;
    const auto summary = write_chrome_trace(*reader, Analysis{}, {}, sink);
    ASSERT_OK(summary.status());
    summary_ = *summary;
    trace_ = json::parse(sink.text());
    for (const json& event : trace_["traceEvents"]) {
      if (event["ph"] != "M") continue;
      const std::string what = event["name"];
      const auto name = [&] { return event["args"]["name"].get<std::string>(); };
      if (what == "process_name") groups_[event["pid"]] = name();
      if (what == "thread_name") tracks_[{event["pid"], event["tid"]}] = name();
    }
  }
  // "group / track: name start+dur", of slices of a category.
  [[nodiscard]] std::vector<std::string> slices(const std::string& category) const {
    std::vector<std::string> lines;
    for (const json& event : trace_["traceEvents"]) {
      if (event["ph"] == "X" && event["cat"] == category) lines.push_back(line(event));
    }
    return lines;
  }
  [[nodiscard]] std::string line(const json& event) const {
    const auto ns = [](const json& us) {
      return std::to_string(std::llround(us.get<double>() * 1e3));
    };
    return groups_.at(event["pid"]) + " / " + tracks_.at({event["pid"], event["tid"]}) + ": " +
           event["name"].get<std::string>() + " " + ns(event["ts"]) +
           (event.contains("dur") ? "+" + ns(event["dur"]) : "");
  }
  // "from -> to", by id.
  [[nodiscard]] std::vector<std::string> arrows() const {
    std::map<std::string, std::string> by_id;
    for (const json& event : trace_["traceEvents"]) {
      if (event.value("cat", "") != "ac2g") continue;
      std::string& arrow = by_id[event["id"]];
      EXPECT_EQ(event["ph"], arrow.empty() ? "s" : "f");
      arrow += (arrow.empty() ? "" : " -> ") + line(event);
    }
    std::vector<std::string> lines;
    for (const auto& [id, arrow] : by_id) lines.push_back(arrow);
    return lines;
  }

  const testing::TempDir dir_;
  const std::filesystem::path path_ = dir_ / "run.db";
  std::unique_ptr<TraceWriter> writer_;
  ProcessId process_{};
  ThreadId thread_{};
  DeviceId device_{};
  StreamId stream_{};
  ChromeTraceSummary summary_;
  json trace_;
  std::map<std::int64_t, std::string> groups_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> tracks_;
};

TEST_F(DeviceTrace, AStreamHasItsActivitiesAndArrowsFromTheirCalls) {
  call("cudaLaunchKernel", 10, 5, 1);
  call("cuLaunchKernel", 30, 5, 2);
  kernel("triton_\"add\"", 60, 20, 2);  // recorded in another order
  kernel("sgemm", 20, 30, 1);
  const Copy copy{{stream_, session_time(90), Duration(10), id(9)},
                  CopyKind::kHostToDevice,
                  MemoryKind::kPageable,
                  MemoryKind::kDevice,
                  1000};
  ASSERT_OK(writer_->add(copy));
  const Memset memset{{stream_, session_time(105), Duration(1), 0}, 64};
  ASSERT_OK(writer_->add(memset));
  export_run();

  const std::string stream = "GPU 3 · V100 (pid 4242) / stream 7: ";
  EXPECT_THAT(slices("kernel"),
              ElementsAre(stream + "sgemm 20+30", stream + "triton_\"add\" 60+20"));
  EXPECT_THAT(slices("gpu_memcpy"), ElementsAre(stream + "Memcpy HtoD (Pageable -> Device) 90+10"));
  EXPECT_THAT(slices("gpu_memset"), ElementsAre(stream + "Memset (Device) 105+1"));
  const std::string calls = "train (pid 4242) / python (CUDA calls): ";
  EXPECT_THAT(slices("cuda_runtime"), ElementsAre(calls + "cudaLaunchKernel 10+5"));
  EXPECT_THAT(slices("cuda_driver"), ElementsAre(calls + "cuLaunchKernel 30+5"));
  EXPECT_THAT(arrows(), UnorderedElementsAre(calls + "ac2g 10 -> " + stream + "ac2g 20",
                                             calls + "ac2g 30 -> " + stream + "ac2g 60"));
  EXPECT_EQ(summary_.activities, 4);
  EXPECT_EQ(summary_.calls, 2);
  EXPECT_EQ(summary_.flows, 2);
  for (const json& event : trace_["traceEvents"]) {
    if (event.value("cat", "") != "gpu_memcpy") continue;
    EXPECT_EQ(event["args"]["bytes"], 1000);
    EXPECT_EQ(event["args"]["correlation"], 9);
    EXPECT_EQ(event["args"]["stream"], 7);
    EXPECT_EQ(event["args"]["memory bandwidth (GB/s)"], 100.0);
  }
}

TEST_F(DeviceTrace, WhatOverlapsOnAStreamGetsAFurtherTrack) {
  kernel("a", 0, 100);
  kernel("inside", 10, 20);
  kernel("across", 50, 100);
  kernel("after", 100, 10);
  export_run();
  const std::string stream = "GPU 3 · V100 (pid 4242) / stream 7";
  EXPECT_THAT(slices("kernel"),
              ElementsAre(stream + ": a 0+100", stream + " (overlapping): inside 10+20",
                          stream + " (overlapping): across 50+100", stream + ": after 100+10"));
}

TEST_F(DeviceTrace, AGraphsLaunchHasAnArrowToEachKernel) {
  call("cudaGraphLaunch", 0, 10, 5);
  for (int i = 0; i < 3; ++i) kernel("node", 20 + 10 * i, 10, 5);
  export_run();
  EXPECT_THAT(arrows(), SizeIs(3));
}

TEST_F(DeviceTrace, AnArrowBeginsOnTheTrackOfItsCall) {
  call("cudaLaunchKernel", 0, 10, 1);
  call("cudaMemcpyAsync", 5, 10, 2);  // overlaps, as two clocks' readings may
  kernel("k", 20, 5, 2);
  export_run();
  EXPECT_THAT(arrows(),
              ElementsAre("train (pid 4242) / python (CUDA calls, overlapping): ac2g 5 -> "
                          "GPU 3 · V100 (pid 4242) / stream 7: ac2g 20"));
}

// Two processes of CUPTI, or a damaged trace: one number, two calls.
TEST_F(DeviceTrace, AThreadsLanesAreNotTakenForAnothers) {
  const ThreadId other = add_thread(4243, "worker");
  call_on(other, "cudaLaunchKernel", 0, 10, 1);
  call("cudaFree", 20, 10);
  call("cudaLaunchKernel", 25, 10, 1);  // overlaps: on the second lane of its thread
  kernel("k", 50, 5, 1);
  export_run();
  EXPECT_THAT(arrows(), ElementsAre("train (pid 4242) / worker (CUDA calls): ac2g 0 -> "
                                    "GPU 3 · V100 (pid 4242) / stream 7: ac2g 50"));
}

TEST_F(DeviceTrace, AnArrowBeginsAtTheFirstCallOfItsNumber) {
  call("cudaLaunchKernel", 0, 10, 1);
  call("cudaFree", 20, 10);
  call("cudaLaunchKernel", 25, 10, 1);  // the same number again, on the second lane
  kernel("k", 50, 5, 1);
  export_run();
  EXPECT_THAT(arrows(), ElementsAre("train (pid 4242) / python (CUDA calls): ac2g 0 -> "
                                    "GPU 3 · V100 (pid 4242) / stream 7: ac2g 50"));
}

TEST_F(DeviceTrace, AThreadHasSoManyTracksAndNoMore) {
  const int calls = static_cast<int>(kMaxLanes) + 3;
  for (int i = 0; i < calls; ++i) {
    call("cudaLaunchKernel", i, 1000, static_cast<std::uint32_t>(i + 1));  // each overlaps all
    kernel("k", 2000 + i, 1000, static_cast<std::uint32_t>(i + 1));
  }
  export_run();
  EXPECT_EQ(summary_.lanes, static_cast<std::int64_t>(2 * kMaxLanes));
  EXPECT_EQ(summary_.skipped, 6);
  EXPECT_THAT(slices("cuda_runtime"), SizeIs(kMaxLanes));
  EXPECT_THAT(slices("kernel"), SizeIs(kMaxLanes));
  EXPECT_THAT(arrows(), SizeIs(kMaxLanes));  // none from or to what is not drawn
}

TEST_F(DeviceTrace, IdsOfAnySizeNeverReachTheTracks) {
  kernel("k", 5, 3);
  ASSERT_OK(writer_->finish());
  writer_.reset();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(database,
                   "UPDATE stream SET id = 4000000000; UPDATE kernel SET stream_id = 4000000000;"
                   "UPDATE thread SET id = 4000000000",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(database);
  const auto reader = TraceReader::open(path_);
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().kind(), ErrorKind::kBadInput);
}

TEST_F(DeviceTrace, ThereIsNoArrowToOrFromWhatHasNoLength) {
  call("cudaLaunchKernel", 0, 0, 1);
  kernel("k", 20, 5, 1);
  call("cudaLaunchKernel", 30, 5, 2);
  kernel("k", 40, 0, 2);
  export_run();
  EXPECT_THAT(arrows(), SizeIs(0));
  EXPECT_EQ(summary_.activities, 2);
}

TEST_F(DeviceTrace, WhatNoViewerCanDrawIsCounted) {
  kernel("before the start", -5, 3);
  kernel("k", 5, 3);
  export_run();
  EXPECT_THAT(slices("kernel"), SizeIs(1));
  EXPECT_EQ(summary_.skipped, 1);
}

}  // namespace
}  // namespace stepscope
