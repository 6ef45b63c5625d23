#include "profiler/recorder/stack_sampler.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "profiler/recorder/blocked_signals.h"
#include "profiler/recorder/prompt_wakeups.h"
#include "profiler/ring/thread_schedule.h"
#include "profiler/stacks/blocked_call.h"
#include "profiler/stacks/python_stacks.h"
#include "store/contained.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Threads begin with the program; later ones are found within a second.
constexpr auto kFirstThreadSearches = 200ms;
constexpr int kFirstSearches = 10;
constexpr auto kThreadSearches = 1000ms;
// An interpreter is there from the start, or comes with a library later.
constexpr auto kPythonSearchPeriod = 500ms;
constexpr int kPythonSearches = 20;
// Memory that somebody else provides may never come: then nobody waits for the thread.
constexpr auto kLongestLastRound = 500ms;
constexpr std::size_t kMostSamplesHeld = 100'000;
constexpr int kRoundsOfMean = 64;

OwnedFd open_of_thread(pid_t pid, pid_t tid, const char* file) {
  const std::string path =
      "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + file;
  return OwnedFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

std::string read_whole(const OwnedFd& file) {
  std::string text;
  std::array<char, 65536> part{};
  if (lseek(file.get(), 0, SEEK_SET) != 0) return text;
  for (ssize_t size = 0; (size = read(file.get(), part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(size));
  return text;
}

// Our own wrappers around what they mark.
bool is_our_own(std::string_view file) {
  return file.find("/stepscope/python/stepscope/") != std::string_view::npos;
}

// What a region says of the waits in its process. It may be unmapped at any time.
class WaitWords {
 public:
  explicit WaitWords(const RegionHeader* region) : region_(region) {}

  struct Words {
    pid_t waiting_tid = 0;
    pid_t awaited_pid = 0;
    bool has_steps = false;
  };
  Words read() {
    const std::scoped_lock lock(mutex_);
    if (region_ == nullptr) return {};
    return {static_cast<pid_t>(region_->waiting_tid.load(std::memory_order_relaxed)),
            static_cast<pid_t>(region_->awaited_pid.load(std::memory_order_relaxed)),
            region_->step.load(std::memory_order_relaxed) > 0};
  }
  void forget() {
    const std::scoped_lock lock(mutex_);
    region_ = nullptr;
  }

 private:
  std::mutex mutex_;
  const RegionHeader* region_;  // guarded by mutex_
};

struct Arrived {
  pid_t pid = 0;
  OwnedFd memory, maps;
  std::shared_ptr<WaitWords> words;
};

// How late the rounds began: how many by powers of two of a microsecond.
class Lateness {
 public:
  void add(std::chrono::nanoseconds late) {
    std::size_t bucket = 0;
    for (auto us = late.count() / 1000; us > 0 && bucket + 1 < counts_.size(); us /= 2) ++bucket;
    ++counts_[bucket];
    ++total_;
  }
  // At most that, `share` of them.
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

// The frames of all stacks as a tree.
class FrameTree {
 public:
  std::uint32_t function_of(const PythonFunction& function) {
    const auto key = std::pair(function.file, function.name);
    const auto known = function_ids_.find(key);
    if (known != function_ids_.end()) return known->second;
    functions_.push_back(key);
    return function_ids_.emplace(key, static_cast<std::uint32_t>(functions_.size() - 1))
        .first->second;
  }
  // The frame of `function` at `line`, called from `caller`; `caller` itself once there are too
  // many. New ones are added to `found`.
  std::uint32_t frame(std::uint32_t caller, std::uint32_t function, int line,
                      std::vector<StackBatch::Frame>& found) {
    const std::tuple key(caller, function, line);
    const auto known = ids_.find(key);
    if (known != ids_.end()) return known->second;
    if (ids_.size() >= StackSampler::kMostFrames) return caller;
    const auto& [file, name] = functions_[function];
    found.push_back({caller, name.empty() ? "?" : name, file.empty() ? "?" : file, line});
    const auto id = static_cast<std::uint32_t>(ids_.size() + 1);
    ids_.emplace(key, id);
    return id;
  }

 private:
  std::vector<std::pair<std::string, std::string>> functions_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> function_ids_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, int>, std::uint32_t> ids_;
};

struct SampledThread {
  pid_t tid = 0;
  OwnedFd call;  // its file `syscall`
  ScheduleFile schedule;
  bool loops = false;
  Clock::time_point due;
  std::optional<std::int64_t> blocked_since_ran;  // what it had run when it was last found blocked
  std::vector<PythonFrame> last_stack;
  std::uint32_t last_frame = 0;
  std::string last_call;  // the text of its file `syscall`, which last_blocked tells
  std::string last_blocked;
  int idle_looks = 0;  // one after the other that found it where it was
  bool seen = true;
};

struct Program {
  explicit Program(Arrived arrived)
      : pid(arrived.pid),
        memory(std::move(arrived.memory)),
        maps(std::move(arrived.maps)),
        words(std::move(arrived.words)) {}

  const pid_t pid;
  const ProcessMemory memory;
  const OwnedFd maps;
  const std::shared_ptr<WaitWords> words;
  std::unique_ptr<PythonStacks> stacks;
  std::vector<std::uint32_t> functions;  // its functions to those of the tree
  std::list<SampledThread> threads;
  WaitWords::Words now;
  int searches = 0;  // for the interpreter
  int thread_searches = 0;
  Clock::time_point next_search;
};

}  // namespace

// What both threads use.
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

class Sampling {
 public:
  explicit Sampling(std::int64_t rate) : period_(std::chrono::nanoseconds(1s) / rate) {}

  void add(Arrived arrived) {
    const pid_t pid = arrived.pid;
    std::erase_if(programs_, [&](const Program& program) { return program.pid == pid; });
    programs_.emplace_back(std::move(arrived));
  }
  void forget(pid_t pid) {
    std::erase_if(programs_, [&](const Program& program) { return program.pid == pid; });
  }

  // Looks at all threads that are due. What it finds is added to `found` and `facts`.
  void round(StackBatch& found, SamplerFacts& facts) {
    const auto now = Clock::now();
    awaited_.clear();
    for (Program& program : programs_) {
      program.now = program.words->read();
      if (program.now.awaited_pid != 0) awaited_.push_back(program.now.awaited_pid);
      if (program.next_search <= now) search(program, now, facts);
    }
    for (Program& program : programs_) {
      for (SampledThread& thread : program.threads) {
        const bool awaited = is_awaited(program, thread);
        if (!awaited && now < thread.due) continue;
        look_at(program, thread, awaited, found, facts);
        thread.due = now + (thread.loops ? std::chrono::nanoseconds(0) : slow_period(thread));
      }
    }
  }

  [[nodiscard]] std::chrono::nanoseconds period() const { return period_; }

 private:
  static constexpr std::chrono::nanoseconds kSlowPeriod{1'000'000'000 / StackSampler::kSlowRate};

  // Of one that does nothing, up to four times as long.
  static std::chrono::nanoseconds slow_period(const SampledThread& thread) {
    return kSlowPeriod * std::clamp(thread.idle_looks, 1, 4);
  }

  // Finds the interpreter, then its threads.
  void search(Program& program, Clock::time_point now, SamplerFacts& facts) {
    if (program.stacks == nullptr) {
      program.next_search = ++program.searches < kPythonSearches ? now + kPythonSearchPeriod
                                                                 : Clock::time_point::max();
      const std::string root = "/proc/" + std::to_string(program.pid) + "/root";
      FoundPython python = find_python(program.memory, read_whole(program.maps), root);
      if (!python.why_not.empty() &&
          std::ranges::find(facts.notes, python.why_not) == facts.notes.end())
        facts.notes.push_back(python.why_not);
      if (!python.runtime) return;
      program.stacks = std::make_unique<PythonStacks>(program.memory, *python.runtime);
    }
    program.next_search =
        now + (++program.thread_searches < kFirstSearches ? kFirstThreadSearches : kThreadSearches);
    for (SampledThread& thread : program.threads) thread.seen = false;
    for (const pid_t tid : program.stacks->threads()) {
      const auto known = std::ranges::find(program.threads, tid, &SampledThread::tid);
      SampledThread& thread =
          known != program.threads.end() ? *known : program.threads.emplace_back();
      thread.seen = true;
      const bool is_main = tid == program.pid && program.now.has_steps;
      thread.loops = thread.loops || is_main || tid == program.now.waiting_tid;
      if (thread.tid == tid) continue;
      thread.tid = tid;
      thread.call = open_of_thread(program.pid, tid, "syscall");
      const std::string path =
          "/proc/" + std::to_string(program.pid) + "/task/" + std::to_string(tid) + "/schedstat";
      thread.schedule.open(path.c_str());
    }
    std::erase_if(program.threads, [](const SampledThread& thread) { return !thread.seen; });
  }

  // Whether a loop waits for what this thread makes: the main thread of the worker that is known to
  // make the batch, or where none is known, any other thread of the process.
  bool is_awaited(const Program& program, const SampledThread& thread) const {
    if (std::ranges::find(awaited_, program.pid) != awaited_.end())
      return thread.tid == program.pid;
    const WaitWords::Words& now = program.now;
    return now.waiting_tid != 0 && now.awaited_pid == 0 && thread.tid != now.waiting_tid &&
           !thread.loops;
  }

  void look_at(Program& program, SampledThread& thread, bool awaited, StackBatch& found,
               SamplerFacts& facts) {
    StackBatch::Sample sample;
    sample.pid = program.pid;
    sample.tid = thread.tid;
    sample.at = read_ticks();
    sample.awaited = awaited;
    std::array<char, 256> text{};
    const ssize_t size = thread.call ? pread(thread.call.get(), text.data(), text.size(), 0) : -1;
    const std::string_view call(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    const bool blocked = !call.empty() && !says_running(call);
    const auto times = thread.schedule.read();
    const auto ran = times ? std::optional(times->run_ns) : std::nullopt;
    // It has not run since it was last seen blocked: it is where it was.
    if (blocked && ran && thread.blocked_since_ran == ran) {
      ++thread.idle_looks;
      if (thread.last_frame == 0) return;
      sample.frame = thread.last_frame;
      sample.blocked = thread.last_blocked;
      ++facts.samples;
      found.samples.push_back(std::move(sample));
      return;
    }
    thread.blocked_since_ran = blocked ? ran : std::nullopt;
    thread.idle_looks = 0;
    if (!blocked) {
      thread.last_blocked.clear();
      thread.last_call.clear();
    } else if (thread.last_call != call) {
      thread.last_call = call;
      thread.last_blocked = blocked_call(call, program.pid).value_or("");
    }
    thread.last_frame = frame_of(program, thread, found, facts);
    if (thread.last_frame == 0) return;
    sample.frame = thread.last_frame;
    sample.blocked = thread.last_blocked;
    ++facts.samples;
    found.samples.push_back(std::move(sample));
  }

  // 0: it runs no Python, or changed too fast.
  std::uint32_t frame_of(Program& program, SampledThread& thread, StackBatch& found,
                         SamplerFacts& facts) {
    const StackOutcome outcome = program.stacks->read(thread.tid, stack_);
    facts.torn += outcome == StackOutcome::kTorn ? 1 : 0;
    if (outcome != StackOutcome::kRead) {
      thread.blocked_since_ran.reset();
      return 0;
    }
    if (stack_ == thread.last_stack && thread.last_frame != 0) return thread.last_frame;
    thread.last_stack = stack_;
    std::uint32_t frame = 0;
    for (auto at = stack_.rbegin(); at != stack_.rend(); ++at) {
      const PythonFunction& function = program.stacks->function(at->function);
      if (is_our_own(function.file)) continue;
      std::vector<std::uint32_t>& known = program.functions;
      if (known.size() <= at->function) known.resize(at->function + 1, kUnknown);
      if (known[at->function] == kUnknown) known[at->function] = tree_.function_of(function);
      frame = tree_.frame(frame, known[at->function], at->line, found.frames);
    }
    return frame;
  }

  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

  const std::chrono::nanoseconds period_;
  std::list<Program> programs_;
  std::vector<pid_t> awaited_;  // in this round
  std::vector<PythonFrame> stack_;
  FrameTree tree_;
};

std::chrono::nanoseconds cpu_time() {
  return std::chrono::nanoseconds(read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

// A real-time thread looks when it means to; one that waits for a core looks when the program does
// not run, and finds it sleeping too often. It sleeps for 99 % of the time. Where that is not
// allowed, the shortest slice is asked for.
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

template <typename SharedState>
void run_sampler(const std::shared_ptr<SharedState>& shared, int rate) {
  request_punctuality();
  Sampling sampling(rate);
  Lateness lateness;
  StackBatch found;
  SamplerFacts facts;
  std::minstd_rand random(std::random_device{}());
  // Not in step with what it looks at.
  std::uniform_real_distribution<double> stretch(0.5, 1.5);
  std::chrono::nanoseconds period = sampling.period();
  std::chrono::nanoseconds usual{0};  // of a round, lately
  std::chrono::nanoseconds spent{0};
  const auto began = Clock::now();
  auto planned = Clock::now();
  std::unique_lock lock(shared->mutex);
  while (true) {
    planned += std::chrono::duration_cast<std::chrono::nanoseconds>(period * stretch(random));
    planned = std::max(planned, Clock::now() - period);
    if (shared->wake.wait_until(lock, planned, [&] { return shared->stopping; })) break;
    for (Arrived& arrived : std::exchange(shared->arrived, {})) sampling.add(std::move(arrived));
    for (const pid_t pid : std::exchange(shared->forgotten, {})) sampling.forget(pid);
    facts = shared->facts;
    lock.unlock();
    lateness.add(Clock::now() - planned);
    const auto before = cpu_time();
    sampling.round(found, facts);
    const auto took = cpu_time() - before;
    usual += (took - usual) / kRoundsOfMean;
    spent += took;
    period = sampling.period();
    const auto allowed =
        StackSampler::kFirstAllowance + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                            (Clock::now() - began) * StackSampler::kMostOfCore);
    if (spent > allowed) {
      period = std::max(period, std::chrono::duration_cast<std::chrono::nanoseconds>(
                                    usual / StackSampler::kMostOfCore));
    }
    facts.late_p50_ns = lateness.quantile_ns(0.5);
    facts.late_p99_ns = lateness.quantile_ns(0.99);
    lock.lock();
    shared->facts = facts;
    if (shared->found.samples.size() > kMostSamplesHeld) found.samples.clear();
    std::ranges::move(found.frames, std::back_inserter(shared->found.frames));
    std::ranges::move(found.samples, std::back_inserter(shared->found.samples));
    found.frames.clear();
    found.samples.clear();
  }
}

}  // namespace

void StackSampler::add(pid_t pid, OwnedFd memory, OwnedFd maps, const RegionHeader* region) {
  if (rate_ <= 0 || !memory || !maps || known_.size() >= kMostProcesses) return;
  Arrived arrived{pid, std::move(memory), std::move(maps), std::make_shared<WaitWords>(region)};
  if (!knows(pid)) known_.push_back(pid);
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->words[pid] = arrived.words;
    shared_->arrived.push_back(std::move(arrived));
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
  if (rate_ <= 0 || knows(pid) || known_.size() >= kMostProcesses) return;
  known_.push_back(pid);  // asked once
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
  shared_->forgotten.push_back(pid);
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
