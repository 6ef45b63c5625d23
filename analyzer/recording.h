// What the analyzer knows about a run: phases and facts in memory, ops as a stream. Plain values,
// so that every stage can be driven without a file; read_recording() fills them from a store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/trace_reader.h"

namespace stepscope {

// Step numbers, both included.
struct StepSpan {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const StepSpan&, const StepSpan&) = default;
};

// "500-520" or "500". Nothing for any other text, or an empty range. An imported trace may have a
// step 0.
std::optional<StepSpan> parse_step_window(std::string_view text);

// The steps of an option such as --steps; nothing for "". Errors: kUsage, naming the option.
Result<std::optional<StepSpan>> read_step_window(const char* option, const std::string& text);

// The program's source, where it lies in a git repository.
struct SourceFacts {
  std::string root;           // of the working tree
  std::string commit;         // in full; "": unknown
  std::optional<bool> dirty;  // tracked files were changed since; nullopt: unknown
};

// "1a2b3c4", "1a2b3c4, modified"; "" where it is unknown.
std::string commit_text(const SourceFacts& source);

// How the lines of the program were sampled (meta lines_…).
struct SamplingFacts {
  std::int64_t rate = 0;         // samples per second of a loop's thread; 0: none
  std::int64_t torn = 0;         // stacks that changed while they were read
  std::int64_t late_p99_ns = 0;  // how late samples were taken
  std::string note;              // why some process has no lines; "": all have
  std::string native_note;       // why native libraries are not known by name; "": they are
  std::int64_t native = 0;       // samples that C++ programs took themselves, none of them late
  Duration native_period{0};     // CPU time that a NativeSample stands for; 0: there are none
};

struct RunFacts {
  std::string command;
  std::string program;                   // the script or binary, as a name: "train.py"; "": unknown
  std::vector<std::string> arguments;    // of the whole command, program first
  std::vector<std::string> environment;  // "NAME=VALUE", by name; of the variables that matter
  std::string working_folder;
  SourceFacts source;
  std::string python_version;
  std::string numpy_version;
  std::string torch_version;
  std::vector<std::string> hosts;                  // each one once
  std::map<std::int64_t, std::string> rank_hosts;  // if there are several
  std::int64_t duration_ns = 0;         // of the recording; until it ends, up to the last phase
  std::int64_t cpu_count = 0;           // 0: unknown
  Duration leaf_op_overhead{0};         // framework overhead of a one-element op; 0: not calibrated
  std::optional<bool> cudnn_benchmark;  // the last state in the loops; nullopt: unknown
  SamplingFacts sampling;
  bool windowed = false;     // ops were recorded in some steps only, phases in all
  bool ops_dropped = false;  // earlier recorded ops are no longer held
  bool being_recorded = false;
  bool cut_off = false;         // the recorder did not finish: all after its last commit is missing
  std::string stopped_because;  // why the recorder stopped before the program ended; "": it did not

  [[nodiscard]] bool is_incomplete() const { return cut_off || !stopped_because.empty(); }
};

struct RecordedRun {
  using OpVisitor = std::function<bool(const Op&)>;
  using SampleVisitor = std::function<bool(const Sample&)>;
  // Visits all events of a kind; see TraceReader::for_each_kernel(). Empty: there are none.
  template <typename Event>
  using Source = std::function<Status(const std::function<void(const Event&)>&)>;

  RunFacts facts;
  std::vector<StoredProcess> processes;
  std::vector<StoredThread> threads;
  std::vector<Phase> phases;       // by thread, then start; parents before children
  std::vector<Phase> lengths;      // marks of sample lengths, which are not scopes; same order
  std::vector<Phase> modes;        // marks of eval() and train(), which are not scopes; same order
  std::vector<Phase> op_switches;  // kOpsBegin and kOpsEnd, of any thread of a process; same order
  std::vector<Phase> lost_times;   // kLost, in which marks are missing; same order
  std::vector<Loss> losses;
  std::vector<ProcessEnd> ends;          // of the processes that ended
  std::vector<UnfinishedOp> unfinished;  // by thread, outermost first
  std::int64_t op_count = 0;
  // The ops of one thread come in the order of their ends; see TraceReader::for_each_op().
  std::function<Status(const OpVisitor&)> for_each_op;
  // The samples of one process and counter come by time. May be empty: no samples.
  std::function<Status(const SampleVisitor&)> for_each_sample;
  // How threads were scheduled; the events of one thread come by time.
  std::vector<StoredWatchedThread> watched_threads;
  Source<ThreadStretch> for_each_stretch;
  Source<ThreadReading> for_each_thread_reading;
  std::vector<StackFrame> frames;  // as TraceReader::frames()
  Source<StackSample> for_each_stack_sample;
  Source<NativeSample> for_each_native_sample;  // may be empty: none
  Source<ModuleCall> for_each_module_call;      // may be empty: none; by end for each thread
  std::function<std::string_view(StringId)> text;

  std::vector<StoredDevice> devices;
  std::vector<StoredStream> streams;
  Source<ApiCall> for_each_api_call;
  Source<Kernel> for_each_kernel;
  Source<Copy> for_each_copy;
  Source<Memset> for_each_memset;
  Source<Sync> for_each_sync;
};

// The result refers to `reader`, which must outlive it.
Result<RecordedRun> read_recording(const TraceReader& reader);

// True for "on", false for "off", nothing for any other text.
std::optional<bool> parse_switch(const std::optional<std::string>& text);

// Moves the marks of lengths (serving/lengths.h) from `phases` to `lengths`, where they belong.
void take_lengths(RecordedRun& recording);

// Moves the marks of a model's mode (steps/segment_marks.h) from `phases` to `modes`, where they
// belong.
void take_modes(RecordedRun& recording);

// Moves the marks where op recording began and ended from `phases` to `op_switches`.
void take_op_switches(RecordedRun& recording);

// Moves the times in which marks were lost from `phases` to `lost_times`.
void take_lost_times(RecordedRun& recording);

// The watched threads that recorded events themselves, and their ids there.
std::map<WatchedThreadId, ThreadId> recorded_threads(const RecordedRun& recording);

// The phases of one thread, in order.
std::vector<Phase> phases_of(const RecordedRun& recording, ThreadId thread);

}  // namespace stepscope
