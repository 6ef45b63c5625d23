#include "analyzer/compare/notes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

using Notes = std::vector<Note>;

void note_loops(const AnalysisReport& a, const AnalysisReport& b, Notes& notes) {
  const auto ranks_a = ranks_of(a), ranks_b = ranks_of(b);
  if (ranks_a.size() != ranks_b.size()) {
    notes.push_back({NoteKind::kRankCounts});
  } else if (ranks_a != ranks_b) {
    notes.push_back({NoteKind::kRanks});
  }
  if (a.loops.size() != b.loops.size()) notes.push_back({NoteKind::kLoops});
}

void note_steps(const LoopReport& a, const LoopReport& b, Notes& notes) {
  const bool both = a.device != DeviceId::kNone && b.device != DeviceId::kNone;
  const bool neither = a.device == DeviceId::kNone && b.device == DeviceId::kNone;
  if (!neither && (!both || a.device_name != b.device_name)) notes.push_back({NoteKind::kDevice});
  if (a.marker != b.marker) notes.push_back({NoteKind::kMarker});
  if (!a.ops_recorded || !b.ops_recorded) notes.push_back({NoteKind::kTier});
  if (a.input.inferred != b.input.inferred) notes.push_back({NoteKind::kInput});
}

void note_few_steps(NoteSide side, const LoopReport& loop, Notes& notes) {
  if (loop.analysed.size() < kEnoughSteps) notes.push_back({NoteKind::kSteps, side});
  const bool steady = std::any_of(loop.analysed.begin(), loop.analysed.end(),
                                  [&](std::size_t i) { return loop.steps[i].steady; });
  if (!steady) notes.push_back({NoteKind::kWarmUp, side});
}

void note_program(const RunFacts& a, const RunFacts& b, Notes& notes) {
  const SetupDifferences differences = differences_of(a, b);
  if (!differences.any()) return;
  notes.push_back({differences.program ? NoteKind::kProgram : NoteKind::kSetup});
}

void note_machine(const AnalysisReport& a, const AnalysisReport& b, Notes& notes) {
  if (a.run.torch_version != b.run.torch_version) notes.push_back({NoteKind::kTorchVersion});
  if (a.run.cudnn_benchmark && b.run.cudnn_benchmark &&
      a.run.cudnn_benchmark != b.run.cudnn_benchmark)
    notes.push_back({NoteKind::kCudnnBenchmark});
  if (a.run.hosts != b.run.hosts && !a.run.hosts.empty() && !b.run.hosts.empty())
    notes.push_back({NoteKind::kHosts});
  if (a.run.cpu_count != b.run.cpu_count && a.run.cpu_count > 0 && b.run.cpu_count > 0)
    notes.push_back({NoteKind::kCores});
}

void note_recording(NoteSide side, const AnalysisReport& report, Notes& notes) {
  if (!nothing_lost(report.losses)) notes.push_back({NoteKind::kLosses, side});
  if (report.run.being_recorded) notes.push_back({NoteKind::kRecording, side});
  if (report.run.is_incomplete()) notes.push_back({NoteKind::kIncomplete, side});
  for (std::size_t i = 0; i < report.deaths.size(); ++i)
    notes.push_back({NoteKind::kDied, side, i});
}

SourceChange source_change(const SourceFacts& a, const SourceFacts& b) {
  if (a.commit.empty() || b.commit.empty()) return SourceChange::kNone;
  if (a.commit != b.commit) return SourceChange::kCommit;
  const bool dirty = a.dirty.value_or(false) || b.dirty.value_or(false);
  return dirty ? SourceChange::kUncommitted : SourceChange::kNone;
}

std::map<std::string, std::pair<std::string, std::string>> different_variables(const RunFacts& a,
                                                                               const RunFacts& b) {
  std::map<std::string, std::pair<std::string, std::string>> variables;
  const auto add = [&](const RunFacts& run, auto side) {
    for (const std::string& variable : run.environment) {
      const std::size_t equals = std::min(variable.find('='), variable.size());
      variables[variable.substr(0, equals)].*side =
          variable.substr(std::min(equals + 1, variable.size()));
    }
  };
  add(a, &std::pair<std::string, std::string>::first);
  add(b, &std::pair<std::string, std::string>::second);
  std::erase_if(variables, [](const auto& one) { return one.second.first == one.second.second; });
  return variables;
}

}  // namespace

std::set<std::int64_t> ranks_of(const AnalysisReport& report) {
  std::set<std::int64_t> ranks;
  for (const LoopReport& loop : report.loops) {
    if (loop.rank >= 0) ranks.insert(loop.rank);
  }
  return ranks;
}

SetupDifferences differences_of(const RunFacts& a, const RunFacts& b) {
  if (a.program.empty() || b.program.empty()) return {};
  const bool same_program = a.program == b.program;
  return {!same_program, source_change(a.source, b.source),
          same_program && a.arguments != b.arguments, different_variables(a, b)};
}

const char* note_id(NoteKind kind) {
  switch (kind) {
    case NoteKind::kProgram:
      return "program";
    case NoteKind::kSetup:
      return "setup";
    case NoteKind::kRankCounts:
    case NoteKind::kRanks:
      return "ranks";
    case NoteKind::kLoops:
      return "loops";
    case NoteKind::kDevice:
      return "device";
    case NoteKind::kMarker:
      return "marker";
    case NoteKind::kTier:
      return "tier";
    case NoteKind::kInput:
      return "input";
    case NoteKind::kSteps:
      return "steps";
    case NoteKind::kWarmUp:
      return "warm-up";
    case NoteKind::kTorchVersion:
      return "torch-version";
    case NoteKind::kCudnnBenchmark:
      return "cudnn-benchmark";
    case NoteKind::kHosts:
      return "hosts";
    case NoteKind::kCores:
      return "cores";
    case NoteKind::kLosses:
      return "losses";
    case NoteKind::kRecording:
      return "recording";
    case NoteKind::kIncomplete:
      return "incomplete";
    case NoteKind::kDied:
      return "died";
  }
  return "";
}

std::vector<Note> notes_of(const AnalysisReport& a, const AnalysisReport& b,
                           const Comparison& comparison) {
  Notes notes;
  note_program(a.run, b.run, notes);
  note_loops(a, b, notes);
  if (!comparison.loops.empty()) {
    const LoopReport& loop_a = a.loops[comparison.loops.front().a];
    const LoopReport& loop_b = b.loops[comparison.loops.front().b];
    note_steps(loop_a, loop_b, notes);
    note_few_steps(NoteSide::kA, loop_a, notes);
    note_few_steps(NoteSide::kB, loop_b, notes);
  }
  note_machine(a, b, notes);
  note_recording(NoteSide::kA, a, notes);
  note_recording(NoteSide::kB, b, notes);
  return notes;
}

}  // namespace stepscope
