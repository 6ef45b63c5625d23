#include "profiler/recorder/stack_looks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "profiler/recorder/other_cpus.h"
#include "profiler/ring/clock.h"
#include "profiler/stacks/blocked_call.h"

namespace stepscope {
namespace {

using namespace std::chrono_literals;

// Most threads begin with the program; later ones are found within a second.
constexpr auto kFirstThreadSearches = 200ms;
constexpr int kFirstSearches = 10;
constexpr auto kThreadSearches = 1000ms;
// An interpreter exists from the start, or comes later with a library.
constexpr auto kPythonSearchPeriod = 500ms;
constexpr int kPythonSearches = 20;
constexpr std::chrono::nanoseconds kSlowPeriod{1'000'000'000 / StackLooks::kSlowRate};
constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
// No process has this many mappings. But it may send another file of /proc, which may never end.
constexpr std::size_t kMaxMapsBytes = std::size_t{16} << 20;

OwnedFd open_of_thread(pid_t pid, pid_t tid, const char* file) {
  const std::string path =
      "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + file;
  return OwnedFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

std::string read_whole(const OwnedFd& file) {
  std::string text;
  std::array<char, 65536> part{};
  if (lseek(file.get(), 0, SEEK_SET) != 0) return text;
  for (ssize_t size = 0;
       text.size() < kMaxMapsBytes && (size = read(file.get(), part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(size));
  return text;
}

// Stepscope's own Python wrappers. Under `stepscope run`, the names of their files are not real
// (profiler/python/inject/sitecustomize.py).
bool is_our_own(std::string_view file) {
  return file.starts_with("<stepscope ") ||
         file.find("/stepscope/python/stepscope/") != std::string_view::npos;
}

}  // namespace

void StackLooks::add(Arrived arrived) {
  const pid_t pid = arrived.pid;
  std::erase_if(programs_, [&](const Program& program) { return program.pid == pid; });
  programs_.emplace_back(std::move(arrived));
}

void StackLooks::forget(pid_t pid) {
  std::erase_if(programs_, [&](const Program& program) { return program.pid == pid; });
}

void StackLooks::round(StackBatch& found, SamplerFacts& facts) {
  const auto now = Clock::now();
  awaited_.clear();
  for (Program& program : programs_) {
    program.now = program.words->read();
    if (program.now.awaited_pid != 0) awaited_.push_back(program.now.awaited_pid);
    if (program.next_search <= now) search(program, now, facts);
    find_loops(program, facts);
  }
  for (Program& program : programs_) {
    for (Thread& thread : program.threads) {
      take_libraries(program, thread, found);
      const bool awaited = is_awaited(program, thread);
      if (!awaited && now < thread.due) continue;
      look_at(program, thread, awaited, found, facts);
      thread.due = now + (thread.loops ? std::chrono::nanoseconds(0) : slow_period(thread));
    }
  }
}

StackLooks::Clock::time_point StackLooks::next_round() const {
  auto next = Clock::time_point::max();
  for (const Program& program : programs_) {
    next = std::min(next, program.next_search);
    for (const Thread& thread : program.threads)
      next = std::min(next, thread.loops ? Clock::time_point() : thread.due);
  }
  return next;
}

std::vector<int> StackLooks::cpus_of_loops() const {
  std::vector<int> cpus;
  for (const Program& program : programs_) {
    for (const Thread& thread : program.threads) {
      if (thread.loops) cpus.push_back(last_cpu_of(program.pid, thread.tid));
    }
  }
  return cpus;
}

bool StackLooks::find_interpreter(Program& program, Clock::time_point now, SamplerFacts& facts) {
  if (program.stacks != nullptr) return true;
  program.next_search =
      ++program.searches < kPythonSearches ? now + kPythonSearchPeriod : Clock::time_point::max();
  const std::string root = "/proc/" + std::to_string(program.pid) + "/root";
  const FoundPython python = find_python(program.memory, read_whole(program.maps), root);
  const bool is_new = std::ranges::find(facts.notes, python.why_not) == facts.notes.end();
  if (!python.why_not.empty() && is_new) facts.notes.push_back(python.why_not);
  if (!python.runtime) return false;
  program.stacks = std::make_unique<PythonStacks>(program.memory, *python.runtime);
  return true;
}

// Finds the interpreter, then its threads.
void StackLooks::search(Program& program, Clock::time_point now, SamplerFacts& facts) {
  if (!find_interpreter(program, now, facts)) return;
  program.next_search =
      now + (++program.thread_searches < kFirstSearches ? kFirstThreadSearches : kThreadSearches);
  for (Thread& thread : program.threads) thread.seen = false;
  for (const pid_t tid : program.stacks->threads()) {
    const auto known = std::ranges::find(program.threads, tid, &Thread::tid);
    Thread& thread = known != program.threads.end() ? *known : program.threads.emplace_back();
    thread.seen = true;
    if (thread.tid == tid) continue;
    thread.tid = tid;
    thread.call = open_of_thread(program.pid, tid, "syscall");
    const std::string path =
        "/proc/" + std::to_string(program.pid) + "/task/" + std::to_string(tid) + "/schedstat";
    thread.schedule.open(path.c_str());
  }
  std::erase_if(program.threads, [](const Thread& thread) { return !thread.seen; });
}

void StackLooks::find_loops(Program& program, SamplerFacts& facts) {
  for (Thread& thread : program.threads) {
    const bool is_main = thread.tid == program.pid && program.now.has_steps;
    if (thread.loops || (!is_main && thread.tid != program.now.waiting_tid)) continue;
    thread.loops = true;
    open_counter(thread, facts);
  }
}

void StackLooks::open_counter(Thread& thread, SamplerFacts& facts) {
  std::ptrdiff_t open = 0;
  for (const Program& program : programs_) {
    open += std::ranges::count_if(program.threads,
                                  [](const Thread& other) { return other.counter.is_open(); });
  }
  if (open >= kMaxCounters) return;
  const int error = thread.counter.open(thread.tid);
  const bool has_ended = error == ESRCH;
  if (error != 0 && !has_ended)
    facts.native_note = std::string("perf_event_open: ") + std::strerror(error);
}

void StackLooks::take_libraries(Program& program, Thread& thread, StackBatch& found) {
  notes_.clear();
  thread.counter.take(notes_);
  for (const ProgramCounter::Note& note : notes_) {
    const auto now = Clock::now();
    if (!program.libraries.knows(note.counter) && program.libraries.may_be_old(now))
      program.libraries.set(read_whole(program.maps), now);
    const std::string& library = program.libraries.library_at(note.counter);
    if (!library.empty())
      found.libraries.push_back({program.pid, thread.tid, note.monotonic_ns, library});
  }
}

// For a thread that does nothing, the period is up to four times as long.
std::chrono::nanoseconds StackLooks::slow_period(const Thread& thread) {
  return kSlowPeriod * std::clamp(thread.idle_looks, 1, 4);
}

// Whether a loop waits for this thread's work: it is the main thread of the worker that is known to
// make the batch or, if no worker is known, any other thread of the loop's process.
bool StackLooks::is_awaited(const Program& program, const Thread& thread) const {
  if (std::ranges::find(awaited_, program.pid) != awaited_.end()) return thread.tid == program.pid;
  const WaitWords::Words& now = program.now;
  return now.waiting_tid != 0 && now.awaited_pid == 0 && thread.tid != now.waiting_tid &&
         !thread.loops;
}

void StackLooks::look_at(Program& program, Thread& thread, bool awaited, StackBatch& found,
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
  // The thread has not run since it was last seen blocked, so its stack is the same.
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

std::uint32_t StackLooks::frame_of(Program& program, Thread& thread, StackBatch& found,
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
    if (known[at->function] == kUnknown)
      known[at->function] = tree_.function_of(function.file, function.name);
    frame = tree_.frame(frame, known[at->function], at->line, found.frames);
  }
  return frame;
}

}  // namespace stepscope
