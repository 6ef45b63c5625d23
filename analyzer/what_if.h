// Answers "what would a step take if …?" by replaying the run with a change.
#pragma once

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
  std::string line = {};                // "data.py:41=2x": alone
  std::optional<StepSpan> steps = {};   // only these
};

struct WhatIfAnswer {
  LoopReport loop;  // the one with the most step time
  Prediction baseline;
  Prediction predicted;
  bool replayed = true;            // false: `baseline` is what was measured
  std::vector<std::string> notes;  // sentences: what the prediction assumes or leaves out
};

// Errors: an unknown change or an op that did not run (kUsage; the message names the nearest one),
// a run without steps, and one whose steps cannot be replayed (kBadInput),
// which a line does not need.
Result<WhatIfAnswer> what_if(const RecordedRun& recording, const WhatIfQuestion& question);
Result<WhatIfAnswer> what_if(const TraceReader& reader, const WhatIfQuestion& question);

}  // namespace stepscope
