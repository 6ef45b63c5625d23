// How much of a loop's host time was computing in native libraries other than PyTorch: NumPy, an
// image decoder, a tokenizer. They have no ops; samples of the program counter name them.
// docs/attribution.md, "Other libraries", states the rules.
//
// Thread safety: none while ops are added; then that of const objects.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/recording.h"
#include "analyzer/report.h"
#include "store/status.h"

namespace stepscope {

// The samples of threads that ran code of such a library, and which of them an op explains: a
// library may also do the work of ops, as torchvision's and Debian's OpenBLAS do.
class NativeSamples {
 public:
  struct Found {
    SessionTime at;
    std::string library;
    bool in_op = false;
  };

  // Fails only when reading the store fails.
  static Result<NativeSamples> read(const RecordedRun& recording);

  // All ops of the recording, in any order.
  void add(const Op& op);

  // The CPU time that each sample stands for.
  [[nodiscard]] Duration period() const { return period_; }
  // The samples of one thread, by time.
  [[nodiscard]] const std::vector<Found>& of(ThreadId thread) const;

 private:
  explicit NativeSamples(Duration period) : period_(period) {}

  Duration period_;
  std::map<ThreadId, std::vector<Found>> threads_;
};

class NativeTime {
 public:
  // Counts the samples in the steps of `report`, outside its segments, its waits for input and the
  // program's scopes. `phases`: those of the loop thread. `stretches`: how it was scheduled.
  // Samples measure CPU time only; libraries get the same share of the time in which the thread was
  // starved.
  NativeTime(const NativeSamples& samples, const std::vector<Phase>& phases,
             const std::vector<ThreadStretch>& stretches, const LoopReport& report);

  // Turns the part of each step's host time that went to such libraries into compute. Steps with
  // few periods all get the part that they have together.
  void split_host_time(std::vector<Step>& steps) const;

  // The libraries and runtimes that computed outside ops in report.analysed, by share. Call it
  // after split_host_time().
  [[nodiscard]] std::vector<NativeShare> shares(const LoopReport& report) const;

 private:
  struct Count {
    double periods = 0;  // periods outside waits for input
    double native = 0;   // the part of them in native code, outside ops
  };

  [[nodiscard]] double share_of_step(std::size_t step) const;

  double period_ns_;          // time that a sample stands for, starved time included
  std::vector<Count> steps_;  // of each step of the loop
  Count few_;                 // of the steps with few periods, together
  std::map<std::string, std::map<std::size_t, double>> libraries_;  // samples by step
};

}  // namespace stepscope
