#include "tests/profiler/cupti/stand_in/stand_in.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/profiler/cupti/activity_buffer.h"

namespace stepscope::stand_in {
namespace {

using Requested = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Completed = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

constexpr std::uint32_t kContext = 1;
constexpr int kSuccess = 0, kInvalidParameter = 1, kMaxLimitReached = 12, kInvalidKind = 21,
              kSecondSubscriber = 39;

// Functions of the runtime; their numbers are our own.
enum Function : std::uint32_t {
  kMalloc = 1,
  kLaunch,
  kCopy,
  kMemset,
  kGraph,
  kSynchronize,
  kGetDevice
};
constexpr const char* kRuntimeNames[] = {"",
                                         "cudaMalloc_v3020",
                                         "cudaLaunchKernel_v7000",
                                         "cudaMemcpyAsync_v3020_ptsz",
                                         "cudaMemsetAsync_v3020",
                                         "cudaGraphLaunch_v10000",
                                         "cudaStreamSynchronize_v3020",
                                         "cudaGetDevice_v3020"};
constexpr std::uint32_t kDriverLaunch = 307;

struct Buffer {
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  std::size_t used = 0;
};

class Gpu {
 public:
  static Gpu& get() {
    static auto* const gpu = new Gpu;
    return *gpu;
  }

  Gpu() { settings.sizes = sizes_of_cupti_13_0(); }

  Settings settings;

  std::uint64_t now() {
    const auto clock = clock_.load();
    return clock == nullptr ? 1 : clock();
  }

  // --- what CUPTI is asked ---

  int subscribe(void** subscriber) {
    const std::scoped_lock lock(mutex_);
    if (settings.subscribe_result != kSuccess) return settings.subscribe_result;
    if (seen_.subscribers > 0) return kSecondSubscriber;
    seen_.subscribers = 1;
    *subscriber = this;
    return kSuccess;
  }
  int unsubscribe() {
    const std::scoped_lock lock(mutex_);
    seen_.subscribers = 0;
    return kSuccess;
  }
  int register_clock(std::uint64_t (*clock)()) {
    const std::scoped_lock lock(mutex_);
    clock_ = clock;
    ++seen_.clocks_registered;
    return kSuccess;
  }
  int register_callbacks(Requested requested, Completed completed) {
    const std::scoped_lock lock(mutex_);
    requested_ = requested;
    completed_ = completed;
    return kSuccess;
  }
  int enable(std::uint32_t kind) {
    const std::scoped_lock lock(mutex_);
    if (kind == static_cast<std::uint32_t>(ActivityKind::kKernel) && settings.enable_result != 0) {
      return settings.enable_result;
    }
    if (seen_.clocks_registered == 0) ++seen_.enabled_without_clock;
    enabled_.insert(kind);
    left_out_.erase(left_out_.lower_bound({kind, 0}), left_out_.upper_bound({kind, UINT32_MAX}));
    if (!worker_started_ && settings.own_thread) {
      worker_started_ = true;
      std::thread([this] { work(); }).detach();
    }
    return kSuccess;
  }
  int disable(std::uint32_t kind) {
    const std::scoped_lock lock(mutex_);
    enabled_.erase(kind);
    return kSuccess;
  }
  int flush(bool forced) {
    std::vector<Buffer> full;
    {
      const std::scoped_lock lock(mutex_);
      ++seen_.flushes;
      write_ended(forced ? UINT64_MAX : now());
      full = take_buffers();
    }
    hand_over(full);
    return kSuccess;
  }
  int enable_call(ActivityKind kind, std::uint32_t function, bool on) {
    const std::scoped_lock lock(mutex_);
    const std::pair key(static_cast<std::uint32_t>(kind), function);
    if (on) {
      left_out_.erase(key);
    } else {
      left_out_.insert(key);
    }
    return kSuccess;
  }
  std::size_t take_dropped() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(dropped_, 0);
  }
  Seen seen() {
    const std::scoped_lock lock(mutex_);
    Seen seen = seen_;
    seen.kinds_enabled = static_cast<std::int64_t>(enabled_.size());
    return seen;
  }

  // --- what the program does ---

  // A call of `function`, which does `work(correlation)` meanwhile.
  template <typename Work>
  void call(ActivityKind kind, std::uint32_t function, Work work) {
    const std::uint64_t start = now();
    std::uint32_t correlation = 0;
    {
      const std::scoped_lock lock(mutex_);
      correlation = ++correlation_;
    }
    work(correlation);
    const std::scoped_lock lock(mutex_);
    if (left_out_.contains({static_cast<std::uint32_t>(kind), function})) return;
    ApiRecord record{0, function, start, now(), 0, 0, correlation, 0};
    record.process = static_cast<std::uint32_t>(getpid());
    record.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
    write(kind, record);
    wake_.notify_one();
  }

  template <typename Record>
  std::uint64_t queue(ActivityKind kind, Record record, std::uint32_t stream, std::uint64_t ticks) {
    const std::scoped_lock lock(mutex_);
    std::uint64_t& free_at = stream_end_[stream];
    record.device = 0;
    record.context = kContext;
    record.stream = stream;
    record.start = std::max(free_at, now());
    record.end = free_at = record.start + ticks;
    if (enabled_.contains(static_cast<std::uint32_t>(kind))) {  // when it is launched, not later
      pending_.push_back({record.end, [this, kind, record] { put(kind, record); }});
    }
    return free_at;
  }

  std::uint64_t end_of(std::uint32_t stream) {
    const std::scoped_lock lock(mutex_);
    return stream_end_[stream];
  }
  void wait_until(std::uint64_t ticks) {
    while (now() < ticks && clock_.load() != nullptr) std::this_thread::yield();
  }
  void synchronized(std::uint32_t stream, std::uint64_t start, std::uint32_t correlation) {
    const std::scoped_lock lock(mutex_);
    write(ActivityKind::kSync,
          SyncRecord{0, 3, start, now(), correlation, kContext, stream, kNoCuptiId});
  }

  void load_function(std::uint64_t ticks) {
    const std::uint64_t start = now();
    wait_until(start + ticks);
    const std::scoped_lock lock(mutex_);
    write(ActivityKind::kOverhead,
          OverheadRecord{0, static_cast<std::uint32_t>(OverheadType::kFunctionLoading),
                         kThreadObject, static_cast<std::uint32_t>(getpid()),
                         static_cast<std::uint32_t>(syscall(SYS_gettid)), 0, start, now()});
  }

  // As long as an activity lasts, CUPTI keeps a place for its record.
  void keep_place() {
    const std::scoped_lock lock(mutex_);
    if (current_.data == nullptr) request();
    const std::uint32_t no_kind = 0x7fff;
    std::memcpy(current_.data + current_.used, &no_kind, sizeof(no_kind));
    current_.used += 8;
  }

  bool complete_late_buffer() {
    Buffer buffer;
    std::size_t most = 0;
    const Requested requested = requested_;
    if (requested == nullptr) return false;
    requested(&buffer.data, &buffer.bytes, &most);
    if (buffer.data == nullptr) return false;
    completed_.load()(nullptr, 0, buffer.data, buffer.bytes, 0);
    return true;
  }
  void complete(std::uint8_t* data, std::size_t bytes) {
    const Completed completed = completed_;
    if (completed != nullptr) completed(nullptr, 0, data, bytes, bytes);
  }

 private:
  struct Pending {
    std::uint64_t end;
    std::function<void()> write;
  };

  // Of what follows, mutex_ is held.

  template <typename Record>
  void write(ActivityKind kind, Record record) {
    if (enabled_.contains(static_cast<std::uint32_t>(kind))) put(kind, record);
  }
  template <typename Record>
  void put(ActivityKind kind, Record record) {
    const std::size_t bytes = settings.sizes.of(kind);
    if (current_.data != nullptr && current_.used + bytes > current_.bytes) {
      full_.push_back(std::exchange(current_, {}));
    }
    if (current_.data == nullptr) request();
    if (current_.data == nullptr) {
      ++dropped_;
      ++seen_.records_dropped;
      return;
    }
    record.kind = static_cast<std::uint32_t>(kind);
    std::memcpy(current_.data + current_.used, &record, sizeof(record));
    current_.used += bytes;
  }
  void request() {
    std::size_t most = 0;
    current_ = {};
    if (const Requested requested = requested_; requested != nullptr)
      requested(&current_.data, &current_.bytes, &most);
    if (current_.data == nullptr) ++seen_.buffers_refused;
  }
  void write_ended(std::uint64_t by) {
    const auto still = std::stable_partition(pending_.begin(), pending_.end(),
                                             [by](const Pending& one) { return one.end <= by; });
    for (auto one = pending_.begin(); one != still; ++one) one->write();
    pending_.erase(pending_.begin(), still);
  }
  std::vector<Buffer> take_buffers() {
    std::vector<Buffer> buffers = std::exchange(full_, {});
    if (current_.used > 0) buffers.push_back(std::exchange(current_, {}));
    return buffers;
  }
  // Without the lock: who gets a buffer may call.
  void hand_over(const std::vector<Buffer>& buffers) {
    for (const Buffer& one : buffers) completed_.load()(nullptr, 0, one.data, one.bytes, one.used);
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait_for(lock, std::chrono::milliseconds(10), [this] { return !full_.empty(); });
      write_ended(now());
      const std::vector<Buffer> buffers = std::exchange(full_, {});
      lock.unlock();
      hand_over(buffers);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t (*)()> clock_{nullptr};
  // Not under the lock: a forked child asks too, and a thread that does not exist there may hold
  // it.
  std::atomic<Requested> requested_{nullptr};
  std::atomic<Completed> completed_{nullptr};
  std::set<std::uint32_t> enabled_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> left_out_;  // kinds and functions
  Buffer current_;
  std::vector<Buffer> full_;
  std::vector<Pending> pending_;
  std::map<std::uint32_t, std::uint64_t> stream_end_;
  std::uint32_t correlation_ = 0;
  std::size_t dropped_ = 0;
  bool worker_started_ = false;
  Seen seen_;
};

KernelRecord kernel_record(const char* name, std::uint32_t correlation) {
  KernelRecord record{};
  record.registers = 40;
  record.grid[0] = 64;
  record.grid[1] = record.grid[2] = 1;
  record.block[0] = 256;
  record.block[1] = record.block[2] = 1;
  record.correlation = correlation;
  record.name = reinterpret_cast<std::uint64_t>(name);
  return record;
}

}  // namespace

// --- libcupti
// ----------------------------------------------------------------------------------------

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int cuptiGetVersion(std::uint32_t* version) {
  *version = Gpu::get().settings.version;
  return kSuccess;
}
EXPORTED int cuptiGetResultString(int result, const char** text) {
  *text = result == 999 ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_ERROR";
  return kSuccess;
}
EXPORTED int cuptiSubscribe(void** subscriber, void*, void*) {
  return Gpu::get().subscribe(subscriber);
}
EXPORTED int cuptiUnsubscribe(void*) { return Gpu::get().unsubscribe(); }
EXPORTED int cuptiSetThreadIdType(int) { return kSuccess; }
EXPORTED int cuptiActivityRegisterTimestampCallback(std::uint64_t (*clock)()) {
  return Gpu::get().register_clock(clock);
}
EXPORTED int cuptiActivityRegisterCallbacks(Requested requested, Completed completed) {
  return Gpu::get().register_callbacks(requested, completed);
}
EXPORTED int cuptiActivityEnable(std::uint32_t kind) { return Gpu::get().enable(kind); }
EXPORTED int cuptiActivityDisable(std::uint32_t kind) { return Gpu::get().disable(kind); }
EXPORTED int cuptiActivityFlushAll(std::uint32_t flags) { return Gpu::get().flush(flags != 0); }
EXPORTED int cuptiActivityEnableRuntimeApi(std::uint32_t function, std::uint8_t on) {
  return Gpu::get().enable_call(ActivityKind::kRuntimeCall, function, on != 0);
}
EXPORTED int cuptiActivityEnableDriverApi(std::uint32_t function, std::uint8_t on) {
  return Gpu::get().enable_call(ActivityKind::kDriverCall, function, on != 0);
}
EXPORTED int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  *dropped = Gpu::get().take_dropped();
  return kSuccess;
}
EXPORTED int cuptiGetCallbackName(int domain, std::uint32_t function, const char** name) {
  const bool known = domain == 1 ? function == kDriverLaunch : function < std::size(kRuntimeNames);
  if (!known) return kInvalidParameter;
  *name = domain == 1 ? "cuLaunchKernel" : kRuntimeNames[function];
  return kSuccess;
}
EXPORTED int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, void** record) {
  auto* next = buffer;
  std::uint32_t kind = 0;
  if (*record != nullptr) {
    std::memcpy(&kind, *record, sizeof(kind));
    next = static_cast<std::uint8_t*>(*record) + Gpu::get().settings.sizes.of(kind);
  }
  if (next + sizeof(kind) > buffer + bytes) return kMaxLimitReached;
  std::memcpy(&kind, next, sizeof(kind));
  if (Gpu::get().settings.sizes.of(kind) == 0) return kInvalidKind;
  *record = next;
  return kSuccess;
}

// --- the program's side
// ------------------------------------------------------------------------------

extern "C" {

__attribute__((visibility("default"))) Settings* stand_in_settings() {
  return &Gpu::get().settings;
}
__attribute__((visibility("default"))) Seen stand_in_seen() { return Gpu::get().seen(); }

__attribute__((visibility("default"))) void cudaMalloc_stand_in() {
  Gpu::get().call(ActivityKind::kRuntimeCall, kMalloc, [](std::uint32_t) {});
}
__attribute__((visibility("default"))) void cudaGetDevice_stand_in() {
  Gpu::get().call(ActivityKind::kRuntimeCall, kGetDevice, [](std::uint32_t) {});
}
__attribute__((visibility("default"))) void cudaLaunchKernel_stand_in(const char* name,
                                                                      std::uint32_t stream,
                                                                      std::uint64_t ticks) {
  Gpu::get().call(ActivityKind::kRuntimeCall, kLaunch, [=](std::uint32_t correlation) {
    Gpu::get().queue(ActivityKind::kKernel, kernel_record(name, correlation), stream, ticks);
  });
}
__attribute__((visibility("default"))) void cuLaunchKernel_stand_in(const char* name,
                                                                    std::uint32_t stream,
                                                                    std::uint64_t ticks) {
  Gpu::get().call(ActivityKind::kDriverCall, kDriverLaunch, [=](std::uint32_t correlation) {
    Gpu::get().queue(ActivityKind::kKernel, kernel_record(name, correlation), stream, ticks);
  });
}
__attribute__((visibility("default"))) void cudaGraphLaunch_stand_in(const char* name,
                                                                     std::uint32_t count,
                                                                     std::uint32_t stream,
                                                                     std::uint64_t ticks) {
  Gpu::get().call(ActivityKind::kRuntimeCall, kGraph, [=](std::uint32_t correlation) {
    for (std::uint32_t i = 0; i < count; ++i) {
      KernelRecord record = kernel_record(name, correlation);
      record.graph = 1;
      record.graph_node = (std::uint64_t{1} << 32) + i;
      Gpu::get().queue(ActivityKind::kKernel, record, stream, ticks);
    }
  });
}
__attribute__((visibility("default"))) void cudaMemcpyAsync_stand_in(std::uint64_t bytes,
                                                                     bool pinned,
                                                                     std::uint32_t stream,
                                                                     std::uint64_t ticks) {
  Gpu::get().call(ActivityKind::kRuntimeCall, kCopy, [=](std::uint32_t correlation) {
    CopyRecord record{};
    record.copy_kind = 1;
    record.source = pinned ? 2 : 1;
    record.target = 3;
    record.bytes = bytes;
    record.correlation = correlation;
    const std::uint64_t end = Gpu::get().queue(ActivityKind::kCopy, record, stream, ticks);
    if (!pinned) Gpu::get().wait_until(end);
  });
}
__attribute__((visibility("default"))) void cudaMemsetAsync_stand_in(std::uint64_t bytes,
                                                                     std::uint32_t stream,
                                                                     std::uint64_t ticks) {
  Gpu::get().call(ActivityKind::kRuntimeCall, kMemset, [=](std::uint32_t correlation) {
    MemsetRecord record{};
    record.bytes = bytes;
    record.correlation = correlation;
    Gpu::get().queue(ActivityKind::kMemset, record, stream, ticks);
  });
}
__attribute__((visibility("default"))) void cudaStreamSynchronize_stand_in(std::uint32_t stream) {
  Gpu::get().call(ActivityKind::kRuntimeCall, kSynchronize, [=](std::uint32_t correlation) {
    const std::uint64_t start = Gpu::get().now();
    Gpu::get().wait_until(Gpu::get().end_of(stream));
    Gpu::get().synchronized(stream, start, correlation);
  });
}
__attribute__((visibility("default"))) void stand_in_load_function(std::uint64_t ticks) {
  Gpu::get().load_function(ticks);
}
__attribute__((visibility("default"))) void stand_in_keep_place() { Gpu::get().keep_place(); }
__attribute__((visibility("default"))) void stand_in_flush() { Gpu::get().flush(false); }
__attribute__((visibility("default"))) void stand_in_complete_foreign_buffer() {
  static std::vector<std::uint8_t> foreign(4096, 0x5a);
  Gpu::get().complete(foreign.data(), foreign.size());
}
__attribute__((visibility("default"))) bool stand_in_complete_late_buffer() {
  return Gpu::get().complete_late_buffer();
}
}

}  // namespace stepscope::stand_in
