// The verdict about one loop.
#pragma once

#include "analyzer/report.h"

namespace stepscope {

// How much of the run the recording holds.
struct RecordingQuality {
  std::int64_t ops = 0;
  std::int64_t lost = 0;     // events that were not recorded
  bool incomplete = false;   // the recording ended before the program
  bool device_lost = false;  // records of a device were lost
};

// A loop of one step gets no verdict (kNoVerdict): one round may be anything.
//
// Fills verdict (without its advice) and basis, and the kinds of the steps and of the populations.
// The report must already hold the steps with their times, the analysed steps, shares, phases,
// input, memory, ops, populations and drift.
void judge(LoopReport& report, const RecordingQuality& recording);

}  // namespace stepscope
