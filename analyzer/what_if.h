// Answers "what would a step take if …?" by replaying the run with a change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/simulate/predictor.h"

namespace stepscope {

// All changes apply together.
struct WhatIfQuestion {
  std::vector<std::string> ops = {};    // "aten::conv2d=2x": twice as fast; "checkpoint=0": removed
  std::vector<std::string> input = {};  // "prefetched", "cached", "workers=4"
  std::string copies = {};              // "pinned"
  std::string sync = {};                // "removed"
  std::string launch = {};              // "graphs"
  std::string line = {};                // "data.py:41=2x"; must be the only change
  std::optional<StepSpan> steps = {};   // only these
};

// What a prediction rests on or leaves out: a line's share of the time, or else the cores.
struct WhatIfNote {
  std::optional<LineShare> line = {};
  std::string place = {};  // of the line: "data.py:41"
  // The cores share the work of training and input, so a step takes at least that.
  std::int64_t cores = 0;
  double cores_left = 0;  // by other programs
  double least_ns = 0;
};

struct WhatIfAnswer {
  LoopReport loop;  // the one with the most step time
  Prediction baseline;
  Prediction predicted;
  bool replayed = true;  // false: `baseline` is what was measured
  // Whether the loop's thread sets the step time, so that Prediction::exposed says what a step
  // consists of. The replay of a device does not say what delays it.
  bool thread_sets_time = true;
  std::vector<WhatIfNote> notes;
};

// How to analyze a run for its answer.
AnalyzeOptions what_if_options(const WhatIfQuestion& question);

// `loop`: of the recording, analyzed with what_if_options(). Its steps can be replayed, unless the
// question is about a line. Errors: an unknown change or an op that did not run (kUsage; the
// message names the nearest one).
Result<WhatIfAnswer> answer_what_if(const RecordedRun& recording, LoopReport loop,
                                    const WhatIfQuestion& question);

}  // namespace stepscope
