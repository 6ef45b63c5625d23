#include "present/comparison_notes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/compare/notes.h"
#include "analyzer/printable.h"
#include "analyzer/text_width.h"
#include "analyzer/words.h"
#include "present/death_words.h"
#include "present/losses.h"
#include "present/report_words.h"

namespace stepscope {
namespace {

std::string counted(std::size_t count, const std::string& noun) {
  return count_text(static_cast<std::int64_t>(count)) + " " + noun + (count == 1 ? "" : "s");
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "an unknown version" : printable(text);
}

std::string rank_counts_text(const AnalysisReport& a, const AnalysisReport& b) {
  return "A has " + counted(ranks_of(a).size(), "rank") + " and B has " +
         counted(ranks_of(b).size(), "rank") +
         ": their steps do different amounts of work, unless every rank has a batch of the same "
         "size.";
}

std::string loops_text(const AnalysisReport& a, const AnalysisReport& b) {
  return "A has " + counted(a.loops.size(), "loop") + " and B has " +
         counted(b.loops.size(), "loop") + "; those without a counterpart are left out.";
}

std::string device_name_text(const LoopReport& loop) {
  if (loop.device == DeviceId::kNone) return "no device";
  return loop.device_name.empty() ? "a device" : printable(loop.device_name);
}

std::string devices_text(const LoopReport& a, const LoopReport& b) {
  const bool both = a.device != DeviceId::kNone && b.device != DeviceId::kNone;
  return "A has " + device_name_text(a) + " and B has " + device_name_text(b) +
         (both ? "." : ": their categories are not comparable.");
}

std::string markers_text(const LoopReport& a, const LoopReport& b) {
  return std::string("steps are delimited by different marks (A: ") + marker_name(a.marker) +
         ", B: " + marker_name(b.marker) + "): a step may not cover the same part of the loop.";
}

std::string tiers_text(const LoopReport& a, const LoopReport& b) {
  if (a.ops_recorded == b.ops_recorded) {
    return "ops were recorded in neither run: compute, launch and host cannot be distinguished.";
  }
  const auto ops = [](const LoopReport& loop) {
    return std::string(loop.ops_recorded ? "ops were recorded" : "ops were not recorded");
  };
  return "in A " + ops(a) + ", in B " + ops(b) +
         ": only the category input is comparable, and recording ops adds overhead.";
}

std::string inputs_text(const LoopReport& a) {
  return std::string("the input wait was inferred in ") + (a.input.inferred ? "A" : "B") +
         " and measured in " + (a.input.inferred ? "B" : "A") + ".";
}

std::string few_steps_text(const std::string& run, const LoopReport& loop) {
  const std::size_t count = loop.analysed.size();
  if (count < 2) return run + " has a single step: nothing can be said about noise.";
  return run + " has only " + counted(count, "step") + ": their variation is poorly known.";
}

// The words in which two commands differ, without their common beginning and end: "--lr 0.1". The
// option that a differing value belongs to is included.
std::pair<std::string, std::string> different_words(const std::vector<std::string>& a,
                                                    const std::vector<std::string>& b) {
  constexpr std::size_t kWidth = 40;
  std::size_t begin = 0, end = 0;
  const std::size_t least = std::min(a.size(), b.size());
  while (begin < least && a[begin] == b[begin]) ++begin;
  while (end < least - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  if (begin > 0 && a[begin - 1].starts_with('-')) --begin;
  const auto text = [&](const std::vector<std::string>& words) {
    std::string joined;
    for (std::size_t i = begin; i + end < words.size(); ++i)
      joined += (joined.empty() ? "" : " ") + words[i];
    return joined.empty() ? "none" : cut(joined, kWidth);
  };
  return {text(a), text(b)};
}

std::string variables_text(const SetupDifferences& differences) {
  constexpr std::size_t kMax = 3, kWidth = 30;
  const auto or_unset = [](const std::string& value) {
    return value.empty() ? "unset" : cut(value, kWidth);
  };
  std::string text;
  std::size_t shown = 0;
  for (const auto& [name, values] : differences.variables) {
    if (++shown > kMax) break;
    text += (text.empty() ? "" : ", ") + cut(name, kWidth) + " (" + or_unset(values.first) +
            " and " + or_unset(values.second) + ")";
  }
  if (differences.variables.size() > kMax)
    text += " and " + counted(differences.variables.size() - kMax, "further variable");
  return text;
}

std::string source_text(SourceChange change, const SourceFacts& a, const SourceFacts& b) {
  if (change == SourceChange::kCommit)
    return "commits (" + printable(commit_text(a)) + " and " + printable(commit_text(b)) + ")";
  const bool dirty_a = a.dirty.value_or(false), dirty_b = b.dirty.value_or(false);
  return std::string("uncommitted changes (in ") +
         (dirty_a && dirty_b ? "both"
          : dirty_a          ? "A"
                             : "B") +
         ")";
}

// One line: what was run, and with what.
std::string setup_text(const RunFacts& a, const RunFacts& b) {
  const SetupDifferences differences = differences_of(a, b);
  std::vector<std::string> parts;
  if (differences.source != SourceChange::kNone)
    parts.push_back(source_text(differences.source, a.source, b.source));
  if (differences.arguments) {
    const auto [words_a, words_b] = different_words(a.arguments, b.arguments);
    parts.push_back("arguments (" + words_a + " and " + words_b + ")");
  }
  if (!differences.variables.empty()) parts.push_back(variables_text(differences));
  const std::string text = join(parts, ", ");
  if (!differences.program) return "A and B differ in " + text + ".";
  return "A is a run of " + in_quotes(a.program) + ", B of " + in_quotes(b.program) +
         (text.empty() ? ": different programs." : "; they also differ in " + text + ".");
}

std::string cudnn_text(const RunFacts& a) {
  const bool on = a.cudnn_benchmark.value_or(false);
  return std::string("A ran with cuDNN's benchmark mode ") + (on ? "on" : "off") + ", B with it " +
         (on ? "off" : "on") + ".";
}

std::string losses_note(const std::string& run, const AnalysisReport& report) {
  const std::int64_t lost = report.lost();
  if (lost == 0) return run + " is incomplete (" + losses_text(report.losses, true) + ").";
  return run + " lost " + count_text(lost) + " of about " + count_text(lost + report.op_count) +
         " events: missing events appear to take no time.";
}

// A note on both runs.
std::string text_of_both(const Note& note, const AnalysisReport& a, const AnalysisReport& b) {
  switch (note.kind) {
    case NoteKind::kRankCounts:
      return rank_counts_text(a, b);
    case NoteKind::kRanks:
      return "A and B have different ranks; ranks without a counterpart were matched in order of "
             "step time.";
    case NoteKind::kLoops:
      return loops_text(a, b);
    case NoteKind::kTorchVersion:
      return "A ran with libtorch " + or_unknown(a.run.torch_version) + ", B with " +
             or_unknown(b.run.torch_version) + ".";
    case NoteKind::kCudnnBenchmark:
      return cudnn_text(a.run);
    case NoteKind::kHosts:
      return "A and B ran on different machines (" + printable(a.run.hosts.front()) + ", " +
             printable(b.run.hosts.front()) + ").";
    case NoteKind::kCores:
      return "A had " + std::to_string(a.run.cpu_count) + " cores, B had " +
             std::to_string(b.run.cpu_count) + ".";
    default:
      return setup_text(a.run, b.run);
  }
}

std::string text_of_run(const Note& note, const AnalysisReport& report) {
  const std::string run = note.side == NoteSide::kA ? "A" : "B";
  switch (note.kind) {
    case NoteKind::kLosses:
      return losses_note(run, report);
    case NoteKind::kRecording:
      return run + " is still being recorded.";
    case NoteKind::kIncomplete:
      return run + ": " + gap_sentence(report.run);
    default:
      return run + ": " + death_sentence(report.processes[report.deaths[note.death]]);
  }
}

}  // namespace

std::string note_text(const Note& note, const AnalysisReport& a, const AnalysisReport& b,
                      const Comparison& comparison) {
  const bool of_a = note.side == NoteSide::kA;
  const auto loop = [&](bool in_a) -> const LoopReport& {
    const LoopComparison& first = comparison.loops.front();
    return in_a ? a.loops[first.a] : b.loops[first.b];
  };
  switch (note.kind) {
    case NoteKind::kDevice:
      return devices_text(loop(true), loop(false));
    case NoteKind::kMarker:
      return markers_text(loop(true), loop(false));
    case NoteKind::kTier:
      return tiers_text(loop(true), loop(false));
    case NoteKind::kInput:
      return inputs_text(loop(true));
    case NoteKind::kSteps:
      return few_steps_text(of_a ? "A" : "B", loop(of_a));
    case NoteKind::kWarmUp:
      return std::string(of_a ? "A" : "B") + " has only warm-up steps.";
    default:
      return note.side == NoteSide::kBoth ? text_of_both(note, a, b)
                                          : text_of_run(note, of_a ? a : b);
  }
}

}  // namespace stepscope
