// The parts of a sweep as plain values: `stepscope sweep` writes them and its analysis reads them.
// docs/sweep.md describes their tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {

struct SweepValue {
  std::string text;
  std::optional<double> number;
};

struct SweepParameter {
  std::string name;
  std::vector<SweepValue> values;

  // All of its values are numbers.
  [[nodiscard]] bool numeric() const {
    for (const SweepValue& value : values) {
      if (!value.number) return false;
    }
    return true;
  }
};

struct SweepVariant {
  std::string name;     // empty: the only one
  std::string command;  // with its placeholders
};

// A setting. `values` are indexes into SweepPlan::parameters[i].values.
struct SweepCell {
  std::size_t variant = 0;
  std::vector<std::size_t> values;  // one for each parameter
  std::string command;              // the command line, its words joined by spaces
};

enum class SweepOutcome : std::uint8_t { kOk, kOutOfMemory, kTimedOut, kCrashed, kNoSteps };
const char* outcome_name(SweepOutcome outcome);  // "ok", "out-of-memory", …

struct SweepStep {
  std::int64_t number = 0;
  std::int64_t dur_ns = 0;
  std::optional<std::int64_t> input_ns;  // nullopt: unknown
  bool steady = false;
};

// One process that ran a cell. sweep_schema.sql describes the columns of the same names.
struct SweepRun {
  std::size_t cell = 0;
  std::int64_t round = 0;  // from 1
  std::int64_t started_unix_ns = 0;
  std::int64_t wall_ns = 0;
  SweepOutcome outcome = SweepOutcome::kOk;
  std::string cause;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string error_tail;
  std::string torch_version;
  std::string marker;
  std::optional<double> samples_per_step;
  bool input_seen = false;
  std::int64_t lost_events = 0;
  std::int64_t peak_rss_bytes = 0;
  std::optional<std::int64_t> peak_address_bytes;
  std::optional<std::int64_t> available_bytes;
  std::int64_t minor_faults = 0;
  std::int64_t major_faults = 0;
  std::int64_t cpu_user_ns = 0;
  std::int64_t cpu_system_ns = 0;
  std::optional<std::int64_t> loop_ns;
  std::optional<double> loop_minor_faults;
  std::optional<double> loop_major_faults;
  std::optional<double> loop_pressure_ns;
  std::optional<std::int64_t> trains;  // 0, 1
  std::vector<SweepStep> steps;
};

using SweepMeta = std::vector<std::pair<std::string, std::string>>;

// What a sweep measures.
struct SweepPlan {
  std::vector<SweepParameter> parameters;
  std::vector<SweepVariant> variants;
  std::vector<SweepCell> cells;
  SweepMeta meta;  // docs/sweep.md lists the keys

  [[nodiscard]] std::string meta_text(const std::string& key) const {
    for (const auto& [name, value] : meta) {
      if (name == key) return value;
    }
    return {};
  }
};

}  // namespace stepscope
