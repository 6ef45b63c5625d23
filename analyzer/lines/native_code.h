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

  // CPU time that each sample stands for.
  [[nodiscard]] Duration period() const { return period_; }
  // Of one thread, by time.
  [[nodiscard]] const std::vector<Found>& of(ThreadId thread) const;

 private:
  explicit NativeSamples(Duration period) : period_(period) {}

  Duration period_;
  std::map<ThreadId, std::vector<Found>> threads_;
};

class NativeTime {
 public:
  // Of the samples in the steps of `report`, outside its segments, its waits for input and what
  // the program has named by scopes. `phases`: the loop thread's. `stretches`: how it was
  // scheduled. Samples count CPU time; of what the thread was starved of, a library has the same
  // part.
  NativeTime(const NativeSamples& samples, const std::vector<Phase>& phases,
             const std::vector<ThreadStretch>& stretches, const LoopReport& report);

  // Makes compute of the part of each step's host time that went to such libraries. A step with
  // few periods is given the part that all those have together.
  void split_host_time(std::vector<Step>& steps) const;

  // The libraries and runtimes that computed outside ops, of report.analysed, by share. Call it
  // once the times of the steps are split.
  [[nodiscard]] std::vector<NativeShare> shares(const LoopReport& report) const;

 private:
  struct Count {
    double periods = 0;  // outside waits for input
    double native = 0;   // of them, outside ops
  };

  [[nodiscard]] double share_of_step(std::size_t step) const;

  double period_ns_;          // that a sample stands for, with the time starved
  std::vector<Count> steps_;  // of each step of the loop
  Count few_;                 // of those with few periods, together
  std::map<std::string, std::map<std::size_t, double>> libraries_;  // samples by step
};

}  // namespace stepscope
