// Makes the runs of a sweep that are not measured yet, setting by setting and round by round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/report.h"
#include "profiler/doctor/build_hooks.h"
#include "store/status.h"
#include "sweep/plan.h"

namespace stepscope {

// What a sweep needs from its caller.
struct SweepSetup {
  Installation installed;
  std::filesystem::path folder;  // of recordings that are not kept; not used with keep_runs
  // Says why the recording of a run has no steps.
  std::function<std::string(const AnalysisReport&)> why_no_steps;
  // Called a few times a second with a function that returns the progress; may be empty.
  std::function<void(const std::function<std::string()>& text)> progress;
};

struct SweepEnd {
  int stopped_by = 0;          // a signal; 0: it finished
  std::int64_t measured = 0;   // runs that this call added
  std::int64_t remaining = 0;  // runs that are still to be made
};

// Each run is stored once it has ended, so measurements stay whatever happens next. Errors: the
// sweep at `arguments.output` is another one (kUsage); nothing can be recorded or stored (kIo);
// every setting failed in the first round (kBadInput, with the last line that the first one
// printed).
Result<SweepEnd> run_sweep(const SweepArguments& arguments, const SweepJob& job,
                           const SweepSetup& setup);

// The order of the settings in a round: always the same for the same seed.
std::vector<std::size_t> order_of_round(std::size_t cells, std::uint64_t seed, std::int64_t round);

}  // namespace stepscope
