// A recording that a test builds in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/recording.h"

namespace stepscope::testing {

// Build it up, then take recording(), which refers to this object.
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

}  // namespace stepscope::testing
