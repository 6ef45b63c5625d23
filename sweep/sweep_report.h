// What a sweep says, as plain values: what the page in the terminal, the JSON document and the
// report are made from. docs/sweep.md tells the method.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/estimate.h"
#include "store/sweep_rows.h"

namespace stepscope {

// One setting, over the steady steps of all of its runs.
struct CellFigures {
  std::size_t cell = 0;                      // in SweepPlan::cells
  std::int64_t runs = 0;                     // that ended well
  std::int64_t steps = 0;                    // steady ones, of these runs
  SweepOutcome outcome = SweepOutcome::kOk;  // the first that was not kOk, of any of its runs
  std::string cause;
  bool tried = false;  // false: no run of it has been made yet

  // Only of an available one:
  Estimate step;  // mean time of a step, ns
  double p50_ns = 0;
  double p99_ns = 0;
  std::optional<double> samples_per_step;
  std::optional<double> input_share;  // of step time; nothing: its waits are not known
  double peak_rss_bytes = 0;          // the most of any run
  std::optional<double> peak_address_bytes;
  std::optional<double> minor_faults;  // a step
  std::optional<double> major_faults;
  std::optional<double> pressure_share;  // of step time in which some task waited for memory
  double system_share = 0;               // of all CPU time, in the kernel

  [[nodiscard]] bool available() const { return outcome == SweepOutcome::kOk && steps > 0; }
  // Time of a sample where samples are known, else of a step: what settings are compared by.
  [[nodiscard]] Estimate cost() const;
  [[nodiscard]] std::optional<double> samples_per_second() const;
};

// Peak memory as a straight line over the scanned parameter, and where it meets what there was.
struct MemoryFit {
  bool of_address_space = false;  // what a memory limit counts; else resident memory
  double base_bytes = 0;
  double each_bytes = 0;  // for each 1 of the parameter
  double limit_bytes = 0;
  double largest = 0;                          // the largest value that fits
  std::optional<Interval> interval;            // 95 %; nothing: two runs allow none
  std::int64_t settings = 0;                   // that the line rests on
  std::optional<double> smallest_that_failed;  // the least value that ran out of memory
};

// From here on more memory costs time.
struct PressureOnset {
  std::size_t cell = 0;
  double slowdown = 0;                // cost over that of the best setting, less 1
  std::vector<std::string> evidence;  // sentences without their ends
};

// The settings that differ in one numeric parameter alone.
struct Scan {
  std::string title;                  // what they share; empty: nothing
  std::vector<std::size_t> cells;     // by that parameter's value; those that are not available too
  std::optional<std::size_t> best;    // the cell that costs least
  std::vector<std::size_t> as_good;   // not told from the best, which is one of them; by value
  double good_from = 0, good_to = 0;  // values without a gap around the best that are as good
  std::optional<PressureOnset> pressure;
  std::optional<MemoryFit> memory;
  std::string no_memory_fit;  // why there is none: "needs 2 settings"
};

// A value of a parameter that is no number, or a variant, over all settings that every other value
// of it has too.
struct Level {
  std::string name;
  double cost_ns = 0;   // geometric mean
  double relative = 1;  // to the least
  Interval interval{1, 1};
  bool noise = false;  // not told from the least
};

struct LevelComparison {
  std::string of;                     // the parameter's name, or "variant"
  std::vector<Level> levels;          // the least cost first
  std::size_t settings = 0;           // that the means are over
  std::vector<std::string> left_out;  // because some value of it is not available there
};

struct SweepReport {
  SweepPlan plan;
  std::vector<CellFigures> cells;  // as in the plan
  std::int64_t rounds = 0;
  std::int64_t runs_made = 0;
  std::int64_t runs_planned = 0;       // those that a failure made needless left out
  bool per_sample = false;             // costs are of samples
  std::string unit = "step";           // what a person calls a step: "call" where no run trains
  std::optional<std::size_t> scanned;  // the parameter
  std::vector<Scan> scans;
  std::vector<LevelComparison> comparisons;
  std::vector<std::string> torch_versions;
  std::vector<std::string> notes;  // sentences
};

}  // namespace stepscope
