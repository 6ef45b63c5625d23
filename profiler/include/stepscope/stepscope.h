// Stepscope's C++ interface. Three lines record a training loop:
//
//   #include <stepscope/stepscope.h>
//
//   stepscope::Recording recording({.output = "run.db"});          // until the end of its scope
//   for (auto& batch : stepscope::input(*loader)) {                // records each wait for a batch
//     …forward, loss.backward(), optimizer.step()…                 // recorded without marks
//     stepscope::step();                                           // optional: the step ends here
//   }
//
// then `stepscope analyze run.db`. Nothing here throws, blocks, or needs a libtorch header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "stepscope/c_api.h"
#include "stepscope/input.h"

namespace stepscope {

// The steps whose ops are recorded. Counted from 1; both ends are included. {500, 520} corresponds
// to profile_batch='500,520' in other profilers. {0, 0}: every step.
struct StepWindow {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct Options {
  std::string output = "run.db";  // an earlier recording there is kept as run.db.old
  StepWindow window = {};         // records ops in these steps only; phases are always recorded
  bool ops = true;                // false: phases only
  double budget = 0.02;  // the largest share of the run's time that recording may cost: ops are
                         // recorded in only as many steps as it allows; 0: in every step. Ignored
                         // if a window is set
  bool shapes = false;   // also records the input shapes of each op; costs about 1 us per op
  std::size_t ring_bytes = 0;  // buffer per thread; 0: 2 MiB. Drops and counts events when full
};

// Records the process from its construction to stop(), its destruction or exit(), but not the
// processes forked from it (`stepscope run` records them too). Only one can record at a time: a
// second one records nothing and says so.
//
// Thread safety: none. The recorded threads need no synchronization with it.
class Recording {
 public:
  // If recording cannot start, or the program has begun to exit, says so in one line on stderr and
  // in error(); the program continues.
  explicit Recording(const Options& options = {}) {
    const stepscope_options c_options{
        options.output.c_str(), options.window.first, options.window.last, options.ops ? 1 : 0,
        options.shapes ? 1 : 0, options.ring_bytes,   options.budget};
    keep_error(stepscope_start(&c_options));
    running_ = error_.empty();
  }
  ~Recording() { stop(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Writes all recorded events to the store and closes it. A second call does nothing.
  void stop() {
    if (!running_) return;
    running_ = false;
    keep_error(stepscope_stop());
  }

  [[nodiscard]] bool ok() const { return error_.empty(); }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void keep_error(const char* error) {
    if (error == nullptr) return;
    error_ = error;
    std::fprintf(stderr, "stepscope: %s\n", error);
  }

  std::string error_;
  bool running_ = false;
};

// Ends the step of the calling loop. If it is never called, the loader or the optimizer delimits
// the steps.
inline void step() { stepscope_step(); }

// A named scope of the calling thread, recorded when it ends on that thread: { stepscope::Scope
// scope("checkpoint"); save(); }
class Scope {
 public:
  explicit Scope(std::string_view name) : phase_(stepscope_begin_scope(name.data(), name.size())) {}
  ~Scope() { stepscope_end_scope(&phase_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  stepscope_phase phase_;
};

// The true length of each sample in the current batch: stepscope::lengths(sizes). Shapes do not
// show how much of the computation is padding. With the true lengths, the analysis reports this
// share and the gain from sorting by length. Call it between a batch's arrival and the end of its
// step or inference call. `padded_to`: the length that all samples are padded to; 0: the longest of
// them.
template <typename Lengths>
void lengths(const Lengths& values, std::int64_t padded_to = 0) {
  constexpr std::size_t kMaxText = 1900;  // per mark: a name may have 2,000 bytes
  if (stepscope_is_recording() == 0) return;
  const std::string begin = padded_to > 0 ? "lengths/" + std::to_string(padded_to) : "lengths";
  std::string text = begin;
  for (const auto value : values) {
    const std::string word = " " + std::to_string(value);
    if (text.size() + word.size() > kMaxText) {
      const Scope mark(text);
      text = begin;
    }
    text += word;
  }
  if (text == begin) return;
  const Scope mark(text);
}

}  // namespace stepscope
