// The metrics of a run, made from the frames of its live view. docs/metrics.md lists them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "analyzer/live/live_run.h"
#include "metrics/loop_totals.h"
#include "metrics/metric_family.h"
#include "metrics/run_identity.h"

namespace stepscope {

// Thread safety: none.
class RunMetrics {
 public:
  // `version` is Stepscope's.
  RunMetrics(RunIdentity identity, std::string version)
      : identity_(std::move(identity)), version_(std::move(version)) {}

  // The metrics as of `frame`, the next one of the run, which was read at `now_unix_s`.
  Metrics update(const LiveFrame& frame, double now_unix_s);

 private:
  [[nodiscard]] MetricFamily info(const RunFacts& facts) const;

  RunIdentity identity_;
  std::string version_;
  LoopTotalsTable totals_;
  std::int64_t lost_ = 0;
};

}  // namespace stepscope
