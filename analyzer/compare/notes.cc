#include "analyzer/compare/notes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/printable.h"
#include "analyzer/text_width.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

using Notes = std::vector<Note>;

std::string counted(std::size_t count, const std::string& noun) {
  return count_text(static_cast<std::int64_t>(count)) + " " + noun + (count == 1 ? "" : "s");
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "an unknown version" : printable(text);
}

std::set<std::int64_t> ranks_of(const AnalysisReport& report) {
  std::set<std::int64_t> ranks;
  for (const LoopReport& loop : report.loops) {
    if (loop.rank >= 0) ranks.insert(loop.rank);
  }
  return ranks;
}

void note_loops(const AnalysisReport& a, const AnalysisReport& b, Notes& notes) {
  const auto ranks_a = ranks_of(a), ranks_b = ranks_of(b);
  if (ranks_a.size() != ranks_b.size()) {
    notes.push_back(
        {"ranks", "A has " + counted(ranks_a.size(), "rank") + " and B has " +
                      counted(ranks_b.size(), "rank") +
                      ": their steps do different amounts of work, unless every rank has a "
                      "batch of the same size."});
  } else if (ranks_a != ranks_b) {
    notes.push_back({"ranks",
                     "A and B have different ranks; ranks without a counterpart were matched "
                     "in order of step time."});
  }
  if (a.loops.size() != b.loops.size()) {
    notes.push_back({"loops", "A has " + counted(a.loops.size(), "loop") + " and B has " +
                                  counted(b.loops.size(), "loop") +
                                  "; those without a counterpart are left out."});
  }
}

std::string ops_text(const LoopReport& loop) {
  return loop.ops_recorded ? "ops were recorded" : "ops were not recorded";
}

std::string device_text(const LoopReport& loop) {
  if (loop.device == DeviceId::kNone) return "no device";
  return loop.device_name.empty() ? "a device" : printable(loop.device_name);
}

void note_steps(const LoopReport& a, const LoopReport& b, Notes& notes) {
  const bool both = a.device != DeviceId::kNone && b.device != DeviceId::kNone;
  const bool neither = a.device == DeviceId::kNone && b.device == DeviceId::kNone;
  if (!neither && (!both || a.device_name != b.device_name)) {
    notes.push_back({"device", "A has " + device_text(a) + " and B has " + device_text(b) +
                                   (both ? "." : ": their categories are not comparable.")});
  }
  if (a.marker != b.marker) {
    notes.push_back({"marker", std::string("steps are delimited by different marks (A: ") +
                                   marker_name(a.marker) + ", B: " + marker_name(b.marker) +
                                   "): a step may not cover the same part of the loop."});
  }
  if (a.ops_recorded != b.ops_recorded) {
    notes.push_back(
        {"tier", "in A " + ops_text(a) + ", in B " + ops_text(b) +
                     ": of the categories only input is comparable, and recording ops adds "
                     "overhead."});
  } else if (!a.ops_recorded) {
    notes.push_back({"tier",
                     "ops were recorded in neither run: compute, launch and host cannot be "
                     "distinguished."});
  }
  if (a.input.inferred != b.input.inferred) {
    notes.push_back({"input", std::string("the input of ") + (a.input.inferred ? "A" : "B") +
                                  " is inferred, that of " + (a.input.inferred ? "B" : "A") +
                                  " was seen."});
  }
}

void note_few_steps(const LoopReport& a, const LoopReport& b, Notes& notes) {
  const auto note = [&](const char* run, const LoopReport& loop) {
    const std::size_t count = loop.analysed.size();
    if (count < 2) {
      notes.push_back({"steps", std::string(run) + " has a single step: nothing can be said about "
                                                   "noise."});
    } else if (count < kEnoughSteps) {
      notes.push_back({"steps", std::string(run) + " has only " + counted(count, "step") +
                                    ": their variation is poorly known."});
    }
    const bool steady = std::any_of(loop.analysed.begin(), loop.analysed.end(),
                                    [&](std::size_t i) { return loop.steps[i].steady; });
    if (!steady) notes.push_back({"warm-up", std::string(run) + " has only warm-up steps."});
  };
  note("A", a);
  note("B", b);
}

// The words in which two commands differ, without those that they begin or end with alike: "--lr
// 0.1". The option that a differing value belongs to is named.
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

// By name; "" where the variable is not set.
std::map<std::string, std::pair<std::string, std::string>> variables_of(const RunFacts& a,
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

std::string different_variables(const RunFacts& a, const RunFacts& b) {
  constexpr std::size_t kMost = 3, kWidth = 30;
  const auto variables = variables_of(a, b);
  const auto or_unset = [](const std::string& value) {
    return value.empty() ? "unset" : cut(value, kWidth);
  };
  std::string text;
  std::size_t shown = 0;
  for (const auto& [name, values] : variables) {
    if (++shown > kMost) break;
    text += (text.empty() ? "" : ", ") + cut(name, kWidth) + " (" + or_unset(values.first) +
            " and " + or_unset(values.second) + ")";
  }
  if (variables.size() > kMost)
    text += " and " + counted(variables.size() - kMost, "further variable");
  return text;
}

std::string different_source(const SourceFacts& a, const SourceFacts& b) {
  if (a.commit.empty() || b.commit.empty()) return {};
  const std::string text_a = printable(commit_text(a)), text_b = printable(commit_text(b));
  if (a.commit != b.commit) return "commits (" + text_a + " and " + text_b + ")";
  const bool dirty_a = a.dirty.value_or(false), dirty_b = b.dirty.value_or(false);
  if (!dirty_a && !dirty_b) return {};
  return std::string("uncommitted changes (in ") +
         (dirty_a && dirty_b ? "both"
          : dirty_a          ? "A"
                             : "B") +
         ")";
}

// One line: what was run, and with what. Of runs that do not say, as imported ones, nothing.
void note_program(const RunFacts& a, const RunFacts& b, Notes& notes) {
  if (a.program.empty() || b.program.empty()) return;
  std::vector<std::string> parts;
  if (std::string source = different_source(a.source, b.source); !source.empty())
    parts.push_back(std::move(source));
  const bool same_program = a.program == b.program;
  if (same_program && a.arguments != b.arguments) {
    const auto [words_a, words_b] = different_words(a.arguments, b.arguments);
    parts.push_back("arguments (" + words_a + " and " + words_b + ")");
  }
  if (std::string variables = different_variables(a, b); !variables.empty())
    parts.push_back(std::move(variables));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  if (!same_program) {
    text = "A is a run of " + in_quotes(a.program) + ", B of " + in_quotes(b.program) +
           (text.empty() ? ": different programs." : "; they also differ in " + text + ".");
  } else if (!text.empty()) {
    text = "A and B differ in " + text + ".";
  }
  if (!text.empty()) notes.push_back({same_program ? "setup" : "program", text});
}

void note_machine(const AnalysisReport& a, const AnalysisReport& b, Notes& notes) {
  if (a.run.torch_version != b.run.torch_version) {
    notes.push_back({"torch-version", "A ran with libtorch " + or_unknown(a.run.torch_version) +
                                          ", B with " + or_unknown(b.run.torch_version) + "."});
  }
  if (a.run.cudnn_benchmark && b.run.cudnn_benchmark &&
      a.run.cudnn_benchmark != b.run.cudnn_benchmark) {
    const bool on = *a.run.cudnn_benchmark;
    notes.push_back({"cudnn-benchmark", std::string("A ran with cuDNN's benchmark mode ") +
                                            (on ? "on" : "off") + ", B with it " +
                                            (on ? "off" : "on") + "."});
  }
  if (a.run.hosts != b.run.hosts && !a.run.hosts.empty() && !b.run.hosts.empty()) {
    notes.push_back({"hosts", "A and B ran on different machines (" +
                                  printable(a.run.hosts.front()) + ", " +
                                  printable(b.run.hosts.front()) + ")."});
  }
  if (a.run.cpu_count != b.run.cpu_count && a.run.cpu_count > 0 && b.run.cpu_count > 0) {
    notes.push_back({"cores", "A had " + std::to_string(a.run.cpu_count) + " cores, B had " +
                                  std::to_string(b.run.cpu_count) + "."});
  }
}

void note_recording(const char* run, const AnalysisReport& report, Notes& notes) {
  const std::string name(run);
  if (const std::int64_t lost = report.lost(); lost > 0) {
    notes.push_back({"losses", name + " lost " + count_text(lost) + " of about " +
                                   count_text(lost + report.op_count) +
                                   " events: missing events appear to take no time."});
  }
  if (report.run.being_recorded) notes.push_back({"recording", name + " is still being recorded."});
  if (!report.gap.empty()) notes.push_back({"incomplete", name + ": " + report.gap});
  for (const std::string& death : report.deaths) notes.push_back({"died", name + ": " + death});
}

}  // namespace

std::vector<Note> notes_of(const AnalysisReport& a, const AnalysisReport& b,
                           const Comparison& comparison) {
  Notes notes;
  note_program(a.run, b.run, notes);
  note_loops(a, b, notes);
  if (!comparison.loops.empty()) {
    const LoopComparison& first = comparison.loops.front();
    note_steps(a.loops[first.a], b.loops[first.b], notes);
    note_few_steps(a.loops[first.a], b.loops[first.b], notes);
  }
  note_machine(a, b, notes);
  note_recording("A", a, notes);
  note_recording("B", b, notes);
  return notes;
}

}  // namespace stepscope
