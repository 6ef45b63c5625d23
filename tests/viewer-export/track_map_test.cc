#include "viewer-export/track_map.h"

#include <gtest/gtest.h>

#include <set>

namespace stepscope {
namespace {

StoredProcess process(std::uint32_t id, std::int64_t pid) {
  StoredProcess process;
  process.id = static_cast<ProcessId>(id);
  process.pid = pid;
  process.name = "train";
  return process;
}

StoredThread thread(std::uint32_t id, std::uint32_t process, std::int64_t tid) {
  StoredThread thread;
  thread.id = static_cast<ThreadId>(id);
  thread.process = static_cast<ProcessId>(process);
  thread.tid = tid;
  thread.name = "t";
  return thread;
}

void expect_well_numbered(const TrackMap& tracks) {
  std::set<std::int64_t> tids;
  std::set<std::int64_t> pids;
  for (const TrackedProcess& each : tracks.processes()) pids.insert(each.pid);
  std::vector<Track> all = tracks.rows();
  all.insert(all.end(), tracks.lanes().begin(), tracks.lanes().end());
  for (const auto& [id, track] : tracks.threads()) all.push_back(track);
  for (const Track& track : all) {
    EXPECT_GT(track.tid, 0);
    EXPECT_TRUE(tids.insert(track.tid).second) << "tid " << track.tid << " is there twice";
    EXPECT_FALSE(pids.contains(track.tid)) << "a viewer would take it for the main thread";
    EXPECT_TRUE(pids.contains(track.pid));
  }
}

TEST(TrackMap, RanksStandInTheirOrderBelowWhatHasNone) {
  StoredProcess launcher = process(1, 10), second = process(2, 11), first = process(3, 12);
  second.rank = 1;
  first.rank = 0;
  const TrackMap tracks({second, launcher, first}, {});
  EXPECT_LT(tracks.pid_of(ProcessId{1}), tracks.pid_of(ProcessId{3}));
  EXPECT_LT(tracks.pid_of(ProcessId{3}), tracks.pid_of(ProcessId{2}));
}

TEST(TrackMap, RowsStandAboveThreadsThatKeepTheirNumbers) {
  TrackMap tracks({process(1, 4242)}, {thread(1, 1, 4242), thread(2, 1, 4250)});
  const Track row = tracks.add_row(ThreadId{1}, "Steps");
  tracks.number_threads();
  tracks.add_lane(ThreadId{2});
  expect_well_numbered(tracks);
  EXPECT_EQ(tracks.processes().front().name, "train (pid 4242)");
  EXPECT_EQ(tracks.thread(ThreadId{1})->tid, 4242);
  EXPECT_EQ(tracks.thread(ThreadId{2})->tid, 4250);
  EXPECT_LT(row.tid, 4242);
}

TEST(TrackMap, LowTidsOfAContainerDoNotCollideWithRows) {
  TrackMap tracks({process(1, 1)}, {thread(1, 1, 1), thread(2, 1, 9)});
  for (int i = 0; i < 4; ++i) tracks.add_row(ThreadId{1}, "row");
  tracks.number_threads();
  expect_well_numbered(tracks);
  EXPECT_EQ(tracks.thread(ThreadId{1})->name, "t (tid 1)");
  EXPECT_LT(tracks.thread(ThreadId{1})->tid, tracks.thread(ThreadId{2})->tid);
}

TEST(TrackMap, ReusedAndOddTidsGetTracksOfTheirOwn) {
  TrackMap tracks({process(1, 70), process(2, 71)},
                  {thread(1, 1, 70), thread(2, 1, 70), thread(3, 2, 0), thread(4, 2, -5)});
  tracks.add_row(ThreadId{3}, "row");
  tracks.number_threads();
  expect_well_numbered(tracks);
  EXPECT_EQ(tracks.rows().front().pid, 2);
}

TEST(TrackMap, TheSameTidInTwoProcessesIsTwoTracks) {
  TrackMap tracks({process(1, 70), process(2, 70)}, {thread(1, 1, 70), thread(2, 2, 70)});
  tracks.number_threads();
  expect_well_numbered(tracks);
}

TEST(TrackMap, UnknownThreadsHaveNoTrack) {
  TrackMap tracks({process(1, 70)}, {thread(2, 1, 70)});
  tracks.number_threads();
  EXPECT_EQ(tracks.thread(ThreadId::kNone), nullptr);
  EXPECT_EQ(tracks.thread(ThreadId{1}), nullptr);
  EXPECT_NE(tracks.thread(ThreadId{2}), nullptr);
  EXPECT_EQ(tracks.thread(ThreadId{3}), nullptr);
}

TEST(TrackMap, ARunWithoutAProcessStillHasOne) {
  TrackMap tracks({}, {});
  EXPECT_EQ(tracks.add_row(ThreadId::kNone, "Losses").pid, 1);
}

}  // namespace
}  // namespace stepscope
