// The result of a comparison, as plain values: what the text page and the JSON document are made
// from. A is what B is measured against.
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
  Difference ns;     // exposed time a step
  Difference share;  // of the step time
};

// Two recordings of one program differ in trifles that are no noise within either: where its code
// and data came to lie in memory, for instance. Below this share of the step, they are not told.
inline constexpr double kTrifle = 0.001;

// Something that is called many times a step.
struct CallDifference {
  std::string kind;  // "op", "kernel"
  std::string name;
  std::string phase;    // phase_name()
  Difference ns;        // self time a step; a kernel's time
  Difference calls;     // a step
  bool trifle = false;  // less than kTrifle of A's step: real or not, not worth a line

  [[nodiscard]] bool changed() const { return ns.changed || calls.changed; }
  [[nodiscard]] bool matters() const { return changed() && !trifle; }
  [[nodiscard]] bool is_new() const { return a_has_none() && changed(); }
  [[nodiscard]] bool is_gone() const { return b_has_none() && changed(); }
  [[nodiscard]] bool a_has_none() const { return ns.a.value <= 0 && calls.a.value <= 0; }
  [[nodiscard]] bool b_has_none() const { return ns.b.value <= 0 && calls.b.value <= 0; }
};

// Two loops beside one another, by their analysed steps.
struct LoopComparison {
  std::size_t a = 0;  // indexes in the reports
  std::size_t b = 0;
  std::int64_t rank = -1;  // of both; -1: matched otherwise
  // What a person calls its steps: "call" where neither ever trains (LoopReport::unit()).
  std::string unit = "step";
  Difference mean;  // of the step time, in ns
  Difference median;
  // Samples a step, as the program marked them (lengths); 0: not known.
  double samples_a = 0;
  double samples_b = 0;
  // Of the time of a sample, in ns, where the samples of a step are known and differ: then steps of
  // the two do not do the same work, and it is samples that say which run is faster.
  std::optional<Difference> sample;
  std::vector<PartDifference> categories;  // that occur in either, in the order of Category
  std::vector<PartDifference> phases;      // input, forward, backward, optimizer, other
  std::vector<CallDifference> calls;       // what matters first, then what changed, then by |delta|
  std::vector<CallDifference> kernels;     // the same; empty unless both have a device
  bool a_has_ops = false;
  bool b_has_ops = false;

  [[nodiscard]] bool has_ops() const { return a_has_ops && b_has_ops; }
  // What tells which run is faster.
  [[nodiscard]] const Difference& pace() const { return sample ? *sample : mean; }
};

// Something that makes the two runs hard to compare.
struct Note {
  std::string id;    // stable: "torch-version"
  std::string text;  // a sentence
};

struct Comparison {
  std::vector<LoopComparison> loops;   // the one with the most step time in A first
  std::vector<std::size_t> only_in_a;  // loops without a partner
  std::vector<std::size_t> only_in_b;
  std::vector<Note> notes;
};

}  // namespace stepscope
