#include "profiler/recorder/stack_sampler.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "profiler/recorder/blocked_signals.h"
#include "profiler/recorder/other_cpus.h"
#include "profiler/recorder/pace.h"
#include "profiler/recorder/prompt_wakeups.h"
#include "profiler/recorder/stack_looks.h"
#include "profiler/ring/clock.h"
#include "store/contained.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A page of memory that another process provides (userfaultfd) may never come; then the sampler's
// thread is not waited for.
constexpr auto kLongestLastRound = 500ms;
constexpr std::size_t kMaxSamplesHeld = 100'000;
constexpr int kRoundsOfMean = 64;
constexpr auto kLongestSleep = 1h;

// A histogram of how late the rounds began, in powers of two of a microsecond.
class Lateness {
 public:
  void add(std::chrono::nanoseconds late) {
    std::size_t bucket = 0;
    for (auto us = late.count() / 1000; us > 0 && bucket + 1 < counts_.size(); us /= 2) ++bucket;
    ++counts_[bucket];
    ++total_;
  }
  // An upper bound of the lateness of `share` of the rounds.
  [[nodiscard]] std::int64_t quantile_ns(double share) const {
    std::int64_t seen = 0;
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      seen += counts_[bucket];
      if (static_cast<double>(seen) >= share * static_cast<double>(total_))
        return (std::int64_t{1} << bucket) * 1000;
    }
    return 0;
  }

 private:
  std::array<std::int64_t, 32> counts_{};
  std::int64_t total_ = 0;
};

}  // namespace

// The state that both threads use.
struct StackSampler::Shared {
  std::mutex mutex;
  std::condition_variable wake;
  // All guarded by mutex.
  bool stopping = false;
  bool stopped = false;
  std::vector<Arrived> arrived;
  std::map<pid_t, std::shared_ptr<WaitWords>> words;
  std::vector<pid_t> forgotten;
  StackBatch found;
  SamplerFacts facts;
};

namespace {

std::chrono::nanoseconds cpu_time() {
  return std::chrono::nanoseconds(read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

// A real-time thread looks on time. One that has to wait for a core looks when the program does not
// run, so it finds the program sleeping too often. The sampler sleeps for 99 % of the time, so
// real-time priority does no harm. If it is not permitted, request the shortest slice.
void request_punctuality() {
  sched_param lowest{};
  lowest.sched_priority = 1;
  if (sched_setscheduler(0, SCHED_FIFO, &lowest) != 0) request_prompt_wakeups();
}

}  // namespace

StackSampler::StackSampler(int rate) : rate_(rate), shared_(std::make_shared<Shared>()) {}

StackSampler::~StackSampler() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  // The owners of the regions may unmap them next, whether or not the thread ends in time.
  for (const auto& [pid, words] : shared_->words) words->forget();
  shared_->stopping = true;
  shared_->wake.notify_all();
  const bool stopped =
      shared_->wake.wait_for(lock, kLongestLastRound, [this] { return shared_->stopped; });
  lock.unlock();
  if (stopped) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

namespace {

// When the next round begins.
class NextRound {
 public:
  [[nodiscard]] Clock::time_point at() const { return at_; }
  // Whether it is later than the rate asks for, because nothing is to be looked at before.
  [[nodiscard]] bool idle() const { return idle_; }

  // `period` after the last one, but no missed rounds are made up for; and not before `look`, when
  // something is to be looked at: a program without Python must not be disturbed for nothing.
  void plan(std::chrono::nanoseconds period, Clock::time_point look) {
    const auto now = Clock::now();
    at_ += std::chrono::duration_cast<std::chrono::nanoseconds>(period * stretch_(random_));
    at_ = std::max(at_, now - period);
    look = std::min(look, now + kLongestSleep);
    idle_ = at_ < look;
    at_ = std::max(at_, look);
  }
  // It begins now where there was news before.
  void begin() { at_ = std::min(at_, Clock::now()); }

 private:
  Clock::time_point at_ = Clock::now();
  bool idle_ = false;
  std::minstd_rand random_{std::random_device{}()};
  // Jitter keeps the rounds from falling into step with the program.
  std::uniform_real_distribution<double> stretch_{0.5, 1.5};
};

template <typename SharedState>
void run_sampler(const std::shared_ptr<SharedState>& shared, int rate) {
  request_punctuality();
  const std::chrono::nanoseconds shortest = std::chrono::nanoseconds(1s) / rate;
  StackLooks looks;
  OtherCpus cpus;
  Lateness lateness;
  StackBatch found;
  SamplerFacts facts;
  std::chrono::nanoseconds period = shortest;
  std::chrono::nanoseconds usual{0};  // the recent mean of a round
  std::chrono::nanoseconds spent{0};
  const auto began = Clock::now();
  NextRound next;
  auto next_choice = next.at();
  std::unique_lock lock(shared->mutex);
  while (true) {
    next.plan(period, looks.next_round());
    shared->wake.wait_until(lock, next.at(), [&] {
      const bool has_news = !shared->arrived.empty() || !shared->forgotten.empty();
      return shared->stopping || (next.idle() && has_news);
    });
    if (shared->stopping) break;
    next.begin();
    // Forget first: a process that replaced its program (exec) is forgotten and arrives again.
    for (const pid_t pid : std::exchange(shared->forgotten, {})) looks.forget(pid);
    for (Arrived& arrived : std::exchange(shared->arrived, {})) looks.add(std::move(arrived));
    facts = shared->facts;
    lock.unlock();
    lateness.add(Clock::now() - next.at());
    const auto before = cpu_time();
    looks.round(found, facts);
    if (next.at() >= next_choice) {
      cpus.avoid(looks.cpus_of_loops());
      next_choice = next.at() + kCpuChoicePeriod;
    }
    const auto took = cpu_time() - before;
    usual += (took - usual) / kRoundsOfMean;
    spent += took;
    period = shortest;
    const auto allowed =
        StackSampler::kFirstAllowance + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                            (Clock::now() - began) * StackSampler::kMaxOfCore);
    if (spent > allowed) {
      period = std::max(period, std::chrono::duration_cast<std::chrono::nanoseconds>(
                                    usual / StackSampler::kMaxOfCore));
    }
    facts.cpu_ns = spent.count();
    facts.late_p50_ns = lateness.quantile_ns(0.5);
    facts.late_p99_ns = lateness.quantile_ns(0.99);
    lock.lock();
    shared->facts = facts;
    if (shared->found.samples.size() > kMaxSamplesHeld) found.samples.clear();
    if (shared->found.libraries.size() > kMaxSamplesHeld) found.libraries.clear();
    std::ranges::move(found.frames, std::back_inserter(shared->found.frames));
    std::ranges::move(found.samples, std::back_inserter(shared->found.samples));
    std::ranges::move(found.libraries, std::back_inserter(shared->found.libraries));
    found.frames.clear();
    found.samples.clear();
    found.libraries.clear();
  }
}

}  // namespace

void StackSampler::add(pid_t pid, OwnedFd memory, OwnedFd maps, const RegionHeader* region) {
  if (rate_ <= 0 || !memory || !maps || known_.size() >= kMaxProcesses) return;
  Arrived arrived{pid, std::move(memory), std::move(maps), std::make_shared<WaitWords>(region)};
  if (!knows(pid)) known_.push_back(pid);
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->words[pid] = arrived.words;
    shared_->arrived.push_back(std::move(arrived));
    shared_->wake.notify_all();
  }
  if (thread_.joinable()) return;
  try {
    const BlockedSignals blocked;
    thread_ = std::thread([shared = shared_, rate = rate_] {
      (void)contained([&] {
        run_sampler(shared, rate);
        return Status();
      });
      const std::scoped_lock lock(shared->mutex);
      shared->stopped = true;
      shared->wake.notify_all();
    });
  } catch (const std::system_error&) {  // too many processes, or no memory for a stack
  }
}

void StackSampler::add_unrecorded(pid_t pid) {
  if (rate_ <= 0 || knows(pid) || known_.size() >= kMaxProcesses) return;
  known_.push_back(pid);  // tried only once
  const std::string folder = "/proc/" + std::to_string(pid);
  add(pid, OwnedFd(open((folder + "/mem").c_str(), O_RDONLY | O_CLOEXEC)),
      OwnedFd(open((folder + "/maps").c_str(), O_RDONLY | O_CLOEXEC)), nullptr);
}

bool StackSampler::knows(pid_t pid) const { return std::ranges::find(known_, pid) != known_.end(); }

void StackSampler::forget(pid_t pid) {
  std::erase(known_, pid);
  const std::scoped_lock lock(shared_->mutex);
  const auto words = shared_->words.find(pid);
  if (words == shared_->words.end()) return;
  words->second->forget();
  shared_->words.erase(words);
  std::erase_if(shared_->arrived, [&](const Arrived& arrived) { return arrived.pid == pid; });
  shared_->forgotten.push_back(pid);
  shared_->wake.notify_all();
}

StackBatch StackSampler::take() {
  const std::scoped_lock lock(shared_->mutex);
  return std::exchange(shared_->found, {});
}

SamplerFacts StackSampler::facts() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->facts;
}

}  // namespace stepscope
