// The result of a sweep, as plain values: the source of the text page, the JSON document and the
// report. docs/sweep.md describes the method.
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
  std::int64_t runs = 0;                     // that succeeded
  std::int64_t steps = 0;                    // steady ones, of these runs
  SweepOutcome outcome = SweepOutcome::kOk;  // of its runs, the first one that was not kOk
  std::string cause;
  bool tried = false;  // false: no run of it has been made yet

  // Only if the setting is available:
  Estimate step;  // mean time of a step, ns
  double p50_ns = 0;
  double p99_ns = 0;
  std::optional<double> samples_per_step;
  std::optional<double> input_share;  // of step time; nothing: its waits are unknown
  double peak_rss_bytes = 0;          // the largest of all runs
  std::optional<double> peak_address_bytes;
  std::optional<double> minor_faults;  // per step
  std::optional<double> major_faults;
  std::optional<double> pressure_share;  // of step time in which some task waited for memory
  double system_share = 0;               // of all CPU time, in the kernel

  [[nodiscard]] bool available() const { return outcome == SweepOutcome::kOk && steps > 0; }
  // What settings are compared by: the time per sample if samples are known, else per step.
  [[nodiscard]] Estimate cost() const;
  [[nodiscard]] std::optional<double> samples_per_second() const;
};

// Peak memory as a linear function of the scanned parameter, and where it reaches the limit.
struct MemoryFit {
  bool of_address_space = false;  // which a memory limit counts; else resident memory
  double base_bytes = 0;
  double each_bytes = 0;  // per unit of the parameter
  double limit_bytes = 0;
  double largest = 0;                          // the largest value that fits
  std::optional<Interval> interval;            // 95 %; nothing: two runs allow none
  std::int64_t settings = 0;                   // that the line is based on
  std::optional<double> smallest_that_failed;  // the least value that ran out of memory
};

// The setting from which on memory pressure costs time.
struct PressureOnset {
  std::size_t cell = 0;
  double slowdown = 0;                // cost relative to the best setting, minus 1
  std::vector<std::string> evidence;  // sentences without a full stop
};

// The settings that differ only in one numeric parameter.
struct Scan {
  std::string title;                  // what they share; empty: nothing
  std::vector<std::size_t> cells;     // by that parameter's value, including unavailable ones
  std::optional<std::size_t> best;    // the cell that costs least
  std::vector<std::size_t> as_good;   // cannot be distinguished from the best; by value
  double good_from = 0, good_to = 0;  // the gapless range of values around the best that is as good
  std::optional<PressureOnset> pressure;
  std::optional<MemoryFit> memory;
  std::string no_memory_fit;  // why there is none: "needs 2 settings"
};

// A value of a non-numeric parameter, or a variant, over all settings that exist for every other
// value, too.
struct Level {
  std::string name;
  double cost_ns = 0;   // geometric mean
  double relative = 1;  // to the least
  Interval interval{1, 1};
  bool noise = false;  // cannot be distinguished from the least
};

struct LevelComparison {
  std::string of;                     // the parameter's name, or "variant"
  std::vector<Level> levels;          // the least cost first
  std::size_t settings = 0;           // that the means cover
  std::vector<std::string> left_out;  // because some value of it is not available there
};

struct SweepReport {
  SweepPlan plan;
  std::vector<CellFigures> cells;  // as in the plan
  std::int64_t rounds = 0;
  std::int64_t runs_made = 0;
  std::int64_t runs_planned = 0;       // without those that a failure made unnecessary
  bool per_sample = false;             // costs are per sample
  std::string unit = "step";           // the word for a step: "call" if no run trains
  std::optional<std::size_t> scanned;  // the parameter
  std::vector<Scan> scans;
  std::vector<LevelComparison> comparisons;
  std::vector<std::string> torch_versions;
  std::vector<std::string> notes;  // sentences
};

}  // namespace stepscope
