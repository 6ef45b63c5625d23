// The result of a comparison, as plain values: the source of the text page and the JSON document. B
// is compared with A, the baseline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/difference.h"
#include "store/analysis.h"

namespace stepscope {

// A part of the step: a category or a phase.
struct PartDifference {
  std::string name;
  Difference ns;     // exposed time per step
  Difference share;  // of the step time
};

// Two recordings of one program differ slightly for reasons that are not noise within either, such
// as where its code and data lie in memory. Differences below this share of the step are not
// reported.
inline constexpr double kTrifle = 0.001;

// An op or kernel that runs many times per step.
struct CallDifference {
  std::string kind;  // "op", "kernel"
  std::string name;
  std::string phase;    // phase_name()
  Difference ns;        // self time per step; for a kernel its time
  Difference calls;     // per step
  bool trifle = false;  // less than kTrifle of A's step: not reported, real or not

  [[nodiscard]] bool changed() const { return ns.changed || calls.changed; }
  [[nodiscard]] bool matters() const { return changed() && !trifle; }
  [[nodiscard]] bool is_new() const { return a_has_none() && changed(); }
  [[nodiscard]] bool is_gone() const { return b_has_none() && changed(); }
  [[nodiscard]] bool a_has_none() const { return ns.a.value <= 0 && calls.a.value <= 0; }
  [[nodiscard]] bool b_has_none() const { return ns.b.value <= 0 && calls.b.value <= 0; }
};

// A line of the program, with what it calls.
struct LineDifference {
  LinePlace place = LinePlace::kLoop;
  std::string category;  // LineShare::category
  std::string file;      // display_file()
  std::string function;
  std::int64_t line_a = 0;  // 0: the line took too little of A's time, or none
  std::int64_t line_b = 0;  // differs from line_a where the code was edited
  Difference ns;            // per step; for a worker, only while its batch was awaited
  bool trifle = false;      // less than kTrifle of A's step

  [[nodiscard]] bool matters() const { return ns.changed && !trifle; }
};

// The comparison of two loops, over their analysed steps.
struct LoopComparison {
  std::size_t a = 0;  // indexes in the reports
  std::size_t b = 0;
  std::int64_t rank = -1;  // of both; -1: not matched by rank
  // The word for a step: "call" where neither loop trains (LoopReport::unit()).
  std::string unit = "step";
  Difference mean;  // of the step time, in ns
  Difference median;
  // Samples per step, as the program marked them (lengths); 0: unknown.
  double samples_a = 0;
  double samples_b = 0;
  // The time per sample, in ns, where the samples per step are known and differ: then the steps of
  // the two do different work, and the time per sample says which run is faster.
  std::optional<Difference> sample;
  std::vector<PartDifference> categories;  // that occur in either, in the order of Category
  std::vector<PartDifference> phases;      // input, forward, backward, optimizer, other
  std::vector<CallDifference> calls;       // by matters(), changed() and |delta|
  std::vector<CallDifference> kernels;     // the same; empty unless both have a device
  std::vector<LineDifference> lines;       // by matters() and |delta|; empty unless both have lines
  bool a_has_ops = false;
  bool b_has_ops = false;

  [[nodiscard]] bool has_ops() const { return a_has_ops && b_has_ops; }
  // The difference that says which run is faster.
  [[nodiscard]] const Difference& pace() const { return sample ? *sample : mean; }
};

// A reason why the two runs are hard to compare.
enum class NoteKind : std::uint8_t {
  kProgram,         // they ran different programs
  kSetup,           // the same program with a different setup: differences_of()
  kRankCounts,      // they have different numbers of ranks
  kRanks,           // as many, but different ones
  kLoops,           // different numbers of loops
  kDevice,          // the main loops have different devices
  kMarker,          // their steps are delimited by different marks
  kTier,            // ops were recorded in one of them, or in neither
  kInput,           // the input of one is inferred
  kSteps,           // a run has few steps
  kWarmUp,          // a run has only warm-up steps
  kTorchVersion,    // different versions of libtorch
  kCudnnBenchmark,  // different modes of cuDNN
  kHosts,           // different machines
  kCores,           // different numbers of cores
  kLosses,          // a run lost events
  kRecording,       // a run is still being recorded
  kIncomplete,      // the recording of a run ended before the program
  kDied,            // a process of a run died
};
const char* note_id(NoteKind kind);  // stable: "torch-version"

enum class NoteSide : std::uint8_t { kBoth, kA, kB };

struct Note {
  NoteKind kind = NoteKind::kSetup;
  NoteSide side = NoteSide::kBoth;  // the run that the note is about
  std::size_t death = 0;            // for kDied: index in AnalysisReport::deaths
};

struct Comparison {
  std::vector<LoopComparison> loops;   // the one with the most step time in A first
  std::vector<std::size_t> only_in_a;  // loops without a counterpart
  std::vector<std::size_t> only_in_b;
  std::vector<Note> notes;
};

}  // namespace stepscope
