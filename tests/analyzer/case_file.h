// Worked cases as text: a small recording, what is asked about it, and the answer, in one file.
//
//   # What it shows.
//   overhead 2                      leaf_op_overhead_ns
//   cpus 4                          cpu_count
//   windowed                        ops were recorded in some steps only
//   lost op 3
//   process 2 [rank=R] [parent=P]   the lines below are about this process (without: process 1)
//     died signal 9 500 [step=N] [oom]   how, code and time; also exit and replaced
//     sample rss_bytes 100 5000     at 100; a counter of the machine is taken for one
//   thread main                     the lines below are about this thread
//     input 0-40 cpu=39 train       a phase: KIND START-END [cpu=N] [name]; step marks: step 40
//     unfinished 40 aten::mm        begun at 40; outermost first
//     op 40-60 [seq=N] aten::linear also backward-op and user-op; parents before children
//     call 62-64 [corr=N] cudaLaunchKernel   of the CUDA runtime or driver
//   stream 7 [device=D]             the lines below are about this stream of the process (D: 0)
//     kernel 66-90 [corr=N] gemm    corr: as that of the call that launched it
//     copy 92-95 [corr=N] HtoD
//     memset 96-97 [corr=N]
//   show steps verdict deaths       which parts of the answer follow
//   expect
//   ...
#pragma once

#include <string>
#include <vector>

#include "analyzer/recording.h"

namespace stepscope::testing {

// A recording in memory. Build it up, then take recording(), which refers to this object.
class RecordingBuilder {
 public:
  RecordingBuilder();

  RunFacts facts;
  std::vector<Loss> losses;
  std::vector<ProcessEnd> ends;
  std::vector<UnfinishedOp> unfinished;
  std::vector<Sample> samples;
  std::vector<ThreadStretch> stretches;
  std::vector<StoredWatchedThread> watched;
  std::vector<ThreadReading> readings;
  std::vector<StackFrame> frames;
  std::vector<StackSample> stack_samples;
  std::vector<NativeSample> native_samples;
  std::vector<ApiCall> calls;
  std::vector<Kernel> kernels;
  std::vector<Copy> copies;
  std::vector<Memset> memsets;

  // Has pid 41 + id.
  ProcessId process(std::int64_t id, std::int64_t rank = -1, std::int64_t parent = 0);
  ThreadId thread(const std::string& name, std::int64_t process = 1);
  DeviceId device(std::int64_t number, std::int64_t process = 1);
  StreamId stream(std::int64_t number, std::int64_t device = 0, std::int64_t process = 1);
  StringId intern(const std::string& text);
  FrameId frame(FrameId caller, const std::string& file, std::int64_t line,
                const std::string& function);
  void phase(ThreadId thread, PhaseKind kind, std::int64_t start, std::int64_t end,
             std::int64_t cpu = 0, const std::string& name = "");
  void op(ThreadId thread, const std::string& name, std::int64_t start, std::int64_t end,
          OpScope scope = OpScope::kFunction, PhaseKind in = PhaseKind::kNone);
  void call(ThreadId thread, const std::string& name, std::int64_t start, std::int64_t end,
            std::int64_t correlation = 0);
  void kernel(StreamId stream, const std::string& name, std::int64_t start, std::int64_t end,
              std::int64_t correlation = 0);

  // Sorted as a store hands them out: phases by thread and start, ops by their ends.
  [[nodiscard]] RecordedRun recording();
  [[nodiscard]] const std::vector<Op>& ops() const { return ops_; }
  std::vector<Op>& ops() { return ops_; }
  std::vector<Phase>& phases() { return phases_; }

 private:
  std::vector<std::string> strings_;
  std::vector<StoredProcess> processes_;
  std::vector<StoredThread> threads_;
  std::vector<StoredDevice> devices_;
  std::vector<StoredStream> streams_;
  std::vector<Phase> phases_;
  std::vector<Op> ops_;
};

struct CaseFile {
  std::string path;
  RecordingBuilder builder;
  std::vector<std::string> show;
  std::string expected;
  std::string problem;  // not empty: the file does not parse
};

CaseFile parse_case(const std::string& path);

// The analysis of the recording, the parts that `show` names, as text.
std::string answer(const RecordedRun& recording, const std::vector<std::string>& show);

}  // namespace stepscope::testing
