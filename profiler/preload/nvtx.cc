// Records the ranges that a program marks for NVIDIA's tools (NVTX), as what PyTorch calls user
// scopes.
//
// NVTX functions do nothing until a tool fills them in. With its first NVTX call, a program loads
// the library named in NVTX_INJECTION64_PATH (`stepscope run` sets it to this library) and passes
// it tables of function pointers. The numbers and layouts here are those of NVTX 3, unchanged since
// NVTX 2; tests/profiler/nvtx_test.cc compares them with NVIDIA's headers if available.
//
// Recorded: pushed and popped ranges of all domains. Not recorded: instant marks, ranges that may
// end on another thread (nvtxRangeStart), wide-character names, categories, colours and payloads.
//
// Thread safety: all of it. Nothing here throws into the program.
#include "profiler/preload/nvtx.h"

#include <array>
#include <mutex>
#include <set>
#include <string>

#include "profiler/session/current_thread.h"
#include "profiler/session/session.h"

namespace stepscope::nvtx {
namespace {

struct OpenRange {
  const void* domain;
  std::uint64_t number;  // identifies it to the recorder; 0: not recorded
};

// Plain data, so that destructors of thread_local objects may still push and pop.
struct ThreadRanges {
  std::array<OpenRange, 64> open;
  std::size_t depth;  // may exceed the array: deeper ranges are counted but not recorded
  std::uint64_t last_number;
};
constinit thread_local ThreadRanges ranges{};

const void* identity(std::uint64_t number) { return reinterpret_cast<const void*>(number); }

std::uint64_t begin(const char* name) {
  if (name == nullptr || *name == '\0' || !Session::get().records_ops()) return 0;
  ThreadRecorder* recorder = current_thread();
  if (recorder == nullptr) return 0;
  const std::uint64_t number = ++ranges.last_number;
  recorder->start_op({identity(number), name, -1, 0, OpScope::kUser});
  return number;
}

void end(std::uint64_t number) {
  if (number == 0) return;
  if (ThreadRecorder* recorder = thread_recorder) recorder->end_op(identity(number));
}

int push(const void* domain, const char* name) {
  if (ranges.depth < ranges.open.size()) ranges.open[ranges.depth] = {domain, begin(name)};
  return static_cast<int>(ranges.depth++);
}

// Pops the last range of this domain; ranges of different domains need not nest.
int pop(const void* domain) {
  if (ranges.depth > ranges.open.size()) return static_cast<int>(--ranges.depth);
  for (std::size_t i = ranges.depth; i-- > 0;) {
    if (ranges.open[i].domain != domain) continue;
    end(ranges.open[i].number);
    for (--ranges.depth; i < ranges.depth; ++i) ranges.open[i] = ranges.open[i + 1];
    return static_cast<int>(ranges.depth);
  }
  return kNoPushPopTracking;
}

// A copy of `text` that lives as long as the process, because a registered string is used again and
// again. Null if memory runs out; then it is not recorded.
const char* keep(const char* text) noexcept try {
  static constinit std::mutex mutex;
  static auto* const texts = new std::set<std::string>;
  if (text == nullptr) return nullptr;
  const std::scoped_lock lock(mutex);
  return texts->emplace(text).first->c_str();
} catch (...) {
  return nullptr;
}

const char* text_of(const EventAttributes* event) {
  if (event == nullptr) return nullptr;
  const bool readable =
      event->message_type == kAsciiMessage || event->message_type == kRegisteredMessage;
  return readable ? event->message : nullptr;
}

int range_push(const char* name) { return push(nullptr, name); }
int range_push_ex(const EventAttributes* event) { return push(nullptr, text_of(event)); }
int range_pop() { return pop(nullptr); }
int domain_range_push_ex(const void* domain, const EventAttributes* event) {
  return push(domain, text_of(event));
}
int domain_range_pop(const void* domain) { return pop(domain); }
const void* domain_create(const char* name) { return keep(name); }
const void* domain_register_string(const void*, const char* text) { return keep(text); }

// The table of a module has an entry for each of its functions; an older library has fewer.
class Table {
 public:
  Table(const ExportTableCallbacks& callbacks, Module module) {
    if (callbacks.get_module_function_table(static_cast<int>(module), &entries_, &size_) == 0) {
      size_ = 0;
    }
  }

  template <typename Result, typename... Arguments>
  void set(unsigned function, Result (*to)(Arguments...)) {
    if (function >= size_ || entries_[function] == nullptr) return;
    *entries_[function] = reinterpret_cast<Function>(to);
  }

 private:
  Function** entries_ = nullptr;
  unsigned size_ = 0;
};

}  // namespace

bool inject(GetExportTable get_export_table) {
  const auto* callbacks = static_cast<const ExportTableCallbacks*>(get_export_table(kCallbacks));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(ExportTableCallbacks)) return false;
  Table core(*callbacks, Module::kCore);
  core.set(kRangePushEx, range_push_ex);
  core.set(kRangePushA, range_push);
  core.set(kRangePop, range_pop);
  Table core2(*callbacks, Module::kCore2);
  core2.set(kDomainRangePushEx, domain_range_push_ex);
  core2.set(kDomainRangePop, domain_range_pop);
  core2.set(kDomainRegisterStringA, domain_register_string);
  core2.set(kDomainCreateA, domain_create);
  return true;
}

}  // namespace stepscope::nvtx

// NVTX looks for this symbol. A result other than 0 means that the library is used.
extern "C" STEPSCOPE_API int InitializeInjectionNvtx2(
    stepscope::nvtx::GetExportTable get_export_table) {
  return stepscope::nvtx::inject(get_export_table) ? 1 : 0;
}
