// A training loop that is being recorded, step by step, for the tests of whoever follows a run.
//
// Each step waits for its batch and then computes: a backward pass and an optimizer step, half of
// the time each, in one op. Ends the test program with a message when the store cannot be written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/trace_writer.h"

namespace stepscope::testing {

class GrowingRun {
 public:
  explicit GrowingRun(const std::filesystem::path& path);

  // Each of these is seen by readers when it returns.
  void steps(int count, Duration input, Duration compute);
  // Rounds of the same ops, without any mark; a wait before each.
  void rounds(int count, Duration wait, Duration compute);
  void wait_for_input(
      Duration input);  // the batch came; what is done with it is yet to be recorded
  void sample(const char* counter, std::int64_t value);
  // The thread was found in these lines just now, the outermost first; `worker`: another process's
  // thread, which makes the batch that the loop waits for.
  void look(const std::vector<const char*>& functions, bool worker = false);
  void lose(std::int64_t ops);
  void die(int signal);
  void stop(const char* why);  // the recording, not the program; no call after it
  void finish();               // no call after it

 private:
  void phase(PhaseKind kind, StringId name, Duration dur);
  void flush();

  std::unique_ptr<TraceWriter> writer_;
  ProcessId process_ = ProcessId::kNone;
  ThreadId thread_ = ThreadId::kNone;
  StringId loader_ = StringId::kNone;
  StringId op_ = StringId::kNone;
  WatchedThreadId watched_ = WatchedThreadId::kNone;  // the loop's
  WatchedThreadId worker_ = WatchedThreadId::kNone;
  std::map<std::pair<FrameId, std::string>, FrameId> frames_;
  SessionTime now_ = session_time(1'000'000);
};

}  // namespace stepscope::testing
