// A training run made of numbers, for the tests of whoever reads a store: every time in it is
// known, so that a test can say what must come out.
//
// One process, a loop thread and an autograd thread. A step, from its start:
//
//   loop thread      | input | forward     | backward     | optimizer   | host |
//                            ops            (waits)        ops
//   autograd thread                         ops
//
// Each phase with ops is tiled by `ops_per_phase` equal ops; each of them has one child that fills
// its middle half. So the self time of either is half of the outer op's time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "store/analysis.h"
#include "store/status.h"
#include "store/trace_reader.h"
#include "store/trace_writer.h"

namespace stepscope::testing {

struct SyntheticRun {
  int steps = 20;
  // What a step consists of; a phase of no length is left out. A multiple of 4 × ops_per_phase ns
  // keeps the halves whole.
  Duration input{3'000'000};
  Duration forward{640'000};
  Duration backward{720'000};
  Duration optimizer{400'000};
  Duration host{40'000};  // after the optimizer, with nothing open

  int ops_per_phase = 4;      // outer ones; as many children
  double input_busy = 1.0;    // share of an input wait in which the thread used the CPU
  bool step_marks = false;    // the user called step() at each step's end
  bool shapes = false;        // on the outer ops of the forward pass
  bool epoch_end = true;      // a last wait that finds the loader exhausted
  std::int64_t lost_ops = 0;  // told as a loss of the loop thread
  int slow_step = -1;         // index of a step that waits ten times as long for its input
  SessionTime start = session_time(1'000'000);
  std::int64_t rank = -1;
  // The process is killed by this signal where the step after the last would begin, with an
  // aten::linear and the aten::addmm in it begun 20 µs and 10 µs earlier.
  std::int64_t killed_by = 0;
  // One at each step's start: it holds 1 GB and 12 MB more each step, and reads 5 MB from disk. Its
  // loop thread lacks a core for a tenth of each step.
  bool samples = false;
  // Each step launches on stream 7 of an A100, in order: a kernel in the first addmm (60 µs after
  // the forward pass began, 20 µs long), a copy of 1 MB from pinned memory in the linear around it
  // (at 70 µs, 20 µs: half of it beside the kernel), and a kernel in the mm of the first autograd
  // node (60 µs after the backward pass began, 30 µs). Needs 4 ops_per_phase.
  bool device = false;

  [[nodiscard]] Duration step_dur() const { return input + forward + backward + optimizer + host; }
  [[nodiscard]] Duration input_of(int index) const {
    return index == slow_step ? 10 * input : input;
  }
  [[nodiscard]] Duration step_dur(int index) const { return step_dur() - input + input_of(index); }
  [[nodiscard]] SessionTime step_start(int index) const {
    const bool after_slow = slow_step >= 0 && index > slow_step;
    return start + index * step_dur() + (after_slow ? 9 * input : Duration(0));
  }
  [[nodiscard]] std::int64_t op_count() const;
};

// The ids that record() gives in an empty store.
inline constexpr ThreadId kLoopThread{1};
inline constexpr ThreadId kAutogradThread{2};

// Writes the run into an open, empty store, metadata included; does not finish it.
Status record(const SyntheticRun& run, TraceWriter& writer);

// The analysis that is true of the run by its making: what the views of a store need.
Analysis true_analysis(const SyntheticRun& run);

// A folder of its own under the system's temporary one, removed with everything in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// A finished store at `path` with the run in it, analysed when asked. Ends the test program with a
// message when that fails: nothing a test could go on with.
void make_store(const std::filesystem::path& path, const SyntheticRun& run, bool analysed = false);

// As TraceReader::open(), for stores that must open.
std::unique_ptr<TraceReader> open_store(const std::filesystem::path& path);

}  // namespace stepscope::testing
