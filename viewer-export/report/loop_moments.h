// What a training loop was doing at a time, as the page Code divides the samples of its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/events.h"
#include "viewer-export/report/report_loops.h"

namespace stepscope {

// The numbers are not stored; the names are.
enum class SampleMoment : std::uint8_t {
  // For the thread of a loop.
  kInput,
  kForward,
  kBackward,
  kOptimizer,
  kOther,    // in a step, but none of these
  kOutside,  // not in an analysed step: start-up, warm-up, evaluations
  // For any other thread: whether a loop waited for a batch that its process makes.
  kAwaited,
  kNotAwaited,
};
const char* moment_name(SampleMoment moment);  // "input", …, "awaited", "not_awaited"

class LoopMoments {
 public:
  // `phases`: of the run, as TraceReader::phases() gives them. Both outlive this.
  LoopMoments(const ReportLoop& loop, const std::vector<Phase>& phases);

  // Must be called in the order of time.
  SampleMoment at(SessionTime time);

 private:
  void pass_phases(SessionTime until);
  bool in_a_step(SessionTime time);

  const std::vector<const Step*>& steps_;
  const std::vector<const LoopSegment*>& segments_;
  std::size_t step_ = 0, segment_ = 0;
  std::vector<Phase>::const_iterator next_, end_;
  std::vector<const Phase*> open_;  // the outer ones first
  SampleMoment between_ = SampleMoment::kOther;
};

}  // namespace stepscope
