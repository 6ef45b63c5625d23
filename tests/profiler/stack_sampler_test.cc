// The sampler beside programs in Python that wait, are waited for, and end.
#include "profiler/recorder/stack_sampler.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "profiler/process/proc_text.h"
#include "profiler/ring/region_format.h"
#include "profiler/stacks/python_runtime.h"
#include "tests/profiler/python_child.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using testing::PythonChild;

// Its main thread sleeps in wait(), called by main(); another in beside().
constexpr char kProgram[] = R"(import os, threading, time


def wait():
    time.sleep(1000)


def beside():
    os.write(1, b"%d\n" % threading.get_native_id())
    time.sleep(1000)


def main():
    wait()


threading.Thread(target=beside, daemon=True).start()
main()
)";

// What a program says of its waits, in memory that can be unmapped.
class FakeRegion {
 public:
  FakeRegion()
      : header_(new(mmap(nullptr, sizeof(RegionHeader), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) RegionHeader{}) {}
  ~FakeRegion() { munmap(header_, sizeof(RegionHeader)); }
  FakeRegion(const FakeRegion&) = delete;
  FakeRegion& operator=(const FakeRegion&) = delete;

  RegionHeader* operator->() const { return header_; }
  [[nodiscard]] const RegionHeader* get() const { return header_; }

 private:
  RegionHeader* header_;
};

class StackSamplerTest : public ::testing::Test {
 protected:
  using Sample = StackBatch::Sample;

  void SetUp() override { std::ofstream(dir_ / "program.py") << kProgram; }

  // Nothing where there is no Python whose stacks can be read.
  std::unique_ptr<PythonChild> start() {
    auto child = std::make_unique<PythonChild>("python3", dir_ / "program.py", 1);
    if (!child->ready()) return nullptr;
    std::stringstream maps;
    maps << std::ifstream("/proc/" + std::to_string(child->pid()) + "/maps").rdbuf();
    if (!find_python(ProcessMemory(child->memory()), maps.str(), "").runtime) return nullptr;
    return child;
  }
  void add(const PythonChild& child, const RegionHeader* region = nullptr) {
    sampler_->add(child.pid(), child.memory(), child.maps(), region);
  }
  // Takes samples until there are some that `wanted` picks; false: none came for a long time.
  bool wait_for(std::size_t count, const std::function<bool(const Sample&)>& wanted) {
    std::size_t seen = 0;
    for (int i = 0; i < 3000; ++i) {
      StackBatch batch = sampler_->take();
      std::ranges::move(batch.frames, std::back_inserter(frames_));
      seen += static_cast<std::size_t>(std::ranges::count_if(batch.samples, wanted));
      std::ranges::move(batch.samples, std::back_inserter(samples_));
      if (seen >= count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  bool wait_for(std::size_t count, pid_t tid) {
    return wait_for(count, [tid](const Sample& sample) { return sample.tid == tid; });
  }
  // The functions of a stack, the innermost first.
  [[nodiscard]] std::vector<std::string> functions_of(const Sample& sample) const {
    std::vector<std::string> functions;
    for (std::uint32_t frame = sample.frame; frame != 0; frame = frames_[frame - 1].caller)
      functions.push_back(frames_[frame - 1].function);
    return functions;
  }
  testing::TempDir dir_;
  std::unique_ptr<StackSampler> sampler_ =
      std::make_unique<StackSampler>(StackSampler::kDefaultRate);
  std::vector<StackBatch::Frame> frames_;
  std::vector<Sample> samples_;
};

constexpr const char* kNoPython = "there is no python3 whose stacks can be read";

TEST_F(StackSamplerTest, ItsFramesAreTheStacksOfEachThread) {
  const auto child = start();
  if (!child) GTEST_SKIP() << kNoPython;
  const pid_t beside = std::stoi(child->lines().front());
  add(*child);
  EXPECT_TRUE(sampler_->knows(child->pid()));
  ASSERT_TRUE(wait_for(3, child->pid()));
  ASSERT_TRUE(wait_for(3, beside));
  for (std::size_t i = 0; i < frames_.size(); ++i) EXPECT_LE(frames_[i].caller, i) << "a tree";
  for (const Sample& sample : samples_) {
    EXPECT_EQ(sample.pid, child->pid());
    EXPECT_FALSE(sample.awaited) << "nobody waits";
    ASSERT_GT(sample.frame, 0U);
    ASSERT_LE(sample.frame, frames_.size());
  }
  const auto main =
      std::ranges::find(samples_.rbegin(), samples_.rend(), child->pid(), &Sample::tid);
  EXPECT_EQ(functions_of(*main), (std::vector<std::string>{"wait", "main", "<module>"}));
  EXPECT_TRUE(main->blocked == "sleep" || main->blocked == "select") << main->blocked;
  EXPECT_EQ(frames_[main->frame - 1].line, 5);
  EXPECT_EQ(frames_[main->frame - 1].file, dir_ / "program.py");
  const auto other = std::ranges::find(samples_.rbegin(), samples_.rend(), beside, &Sample::tid);
  EXPECT_EQ(functions_of(*other).front(), "beside");
  EXPECT_GE(sampler_->facts().samples, 6);
  EXPECT_TRUE(sampler_->facts().notes.empty());
}

TEST_F(StackSamplerTest, WhoIsWaitedForIsMarked) {
  const auto loop = start();
  if (!loop) GTEST_SKIP() << kNoPython;
  const auto worker = start();
  const pid_t beside = std::stoi(loop->lines().front());
  FakeRegion region;
  region->step = 1;
  region->waiting_tid = static_cast<std::uint32_t>(loop->pid());
  region->awaited_pid = static_cast<std::uint32_t>(worker->pid());
  add(*loop, region.get());
  add(*worker);
  const auto awaited = [](pid_t tid) {
    return [tid](const Sample& sample) { return sample.tid == tid && sample.awaited; };
  };
  ASSERT_TRUE(wait_for(5, awaited(worker->pid())));
  ASSERT_TRUE(wait_for(2, beside));
  for (const Sample& sample : samples_)
    EXPECT_TRUE(!sample.awaited || sample.tid == worker->pid()) << sample.tid;
  // A loader's thread makes the next one: who does so is not known.
  region->awaited_pid = 0;
  EXPECT_TRUE(wait_for(3, awaited(beside)));
  region->waiting_tid = 0;
  sampler_->forget(loop->pid());
}

TEST_F(StackSamplerTest, OfAForgottenProcessNothingIsReadThatIsGone) {
  const auto child = start();
  if (!child) GTEST_SKIP() << kNoPython;
  for (int i = 0; i < 30; ++i) {
    const FakeRegion region;
    region->waiting_tid = static_cast<std::uint32_t>(child->pid());
    add(*child, region.get());
    if (i % 3 == 0) {
      ASSERT_TRUE(wait_for(1, child->pid()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 5));
    region->waiting_tid = 0;
    sampler_->forget(child->pid());
    EXPECT_FALSE(sampler_->knows(child->pid()));
  }
}

// As a process does that becomes another program.
TEST_F(StackSamplerTest, AProcessMayBeForgottenAndComeAgainAtOnce) {
  const auto child = start();
  if (!child) GTEST_SKIP() << kNoPython;
  add(*child);
  ASSERT_TRUE(wait_for(1, child->pid()));
  sampler_->forget(child->pid());
  add(*child);
  ASSERT_TRUE(wait_for(8, child->pid()));
  EXPECT_TRUE(sampler_->knows(child->pid()));
}

TEST_F(StackSamplerTest, AProcessThatEndsLeavesTheOthers) {
  const auto first = start();
  if (!first) GTEST_SKIP() << kNoPython;
  const auto second = start();
  add(*first);
  add(*second);
  ASSERT_TRUE(wait_for(1, first->pid()));
  first->end();
  EXPECT_TRUE(wait_for(5, second->pid()));
  sampler_->add_unrecorded(second->pid());  // which it knows
  EXPECT_TRUE(wait_for(2, second->pid()));
}

// A program may send other files of /proc for its own; some have no end.
TEST_F(StackSamplerTest, FilesThatAreNotWhatTheyShouldBeAreNoHarm) {
  const auto child = start();
  if (!child) GTEST_SKIP() << kNoPython;
  sampler_->add(1'000'001, PythonChild::open_of(getpid(), "mem"),
                PythonChild::open_of(getpid(), "pagemap"), nullptr);
  sampler_->add(1'000'002, PythonChild::open_of(getpid(), "status"), child->maps(), nullptr);
  sampler_->add(1'000'003, child->memory(), PythonChild::open_of(getpid(), "stat"), nullptr);
  sampler_->add(1'000'004, OwnedFd(), OwnedFd(), nullptr);
  EXPECT_FALSE(sampler_->knows(1'000'004));
  add(*child);
  EXPECT_TRUE(wait_for(2, child->pid()));
}

// How often the other threads of this process have gone to sleep.
std::int64_t sleeps_of_other_threads() {
  std::int64_t sleeps = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(gettid())) continue;
    const std::string status = read_proc_file(task.path() / "status");
    sleeps += number_in_line(status, "voluntary_ctxt_switches:").value_or(0);
  }
  return sleeps;
}

// A wake-up disturbs the program, and one without Python has nothing to sample.
TEST_F(StackSamplerTest, BesideAProgramWithoutPythonItSleeps) {
  sampler_->add(getpid(), PythonChild::open_of(getpid(), "mem"),
                PythonChild::open_of(getpid(), "maps"), nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::int64_t before = sleeps_of_other_threads();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  // A sanitizer has a thread of its own, which wakes up too.
  EXPECT_LE(sleeps_of_other_threads() - before, 40) << "of 150 rounds";
}

TEST_F(StackSamplerTest, AtARateOf0NothingIsSampled) {
  StackSampler none(0);
  none.add(getpid(), PythonChild::open_of(getpid(), "mem"), PythonChild::open_of(getpid(), "maps"),
           nullptr);
  none.add_unrecorded(getppid());
  EXPECT_FALSE(none.knows(getpid()));
  EXPECT_FALSE(none.knows(getppid()));
  EXPECT_TRUE(none.take().samples.empty());
  EXPECT_EQ(none.facts().cpu_ns, 0);
}

TEST_F(StackSamplerTest, NotMoreProcessesAreSampledThanItCanLookAt) {
  for (int i = 0; i < 3 * static_cast<int>(StackSampler::kMaxProcesses); ++i)
    sampler_->add(1'000'000 + i, PythonChild::open_of(getpid(), "status"),
                  PythonChild::open_of(getpid(), "maps"), nullptr);
  EXPECT_TRUE(sampler_->knows(1'000'000));
  EXPECT_FALSE(sampler_->knows(1'000'000 + 2 * static_cast<int>(StackSampler::kMaxProcesses)));
}

}  // namespace
}  // namespace stepscope
