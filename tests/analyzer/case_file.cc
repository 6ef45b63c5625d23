#include "tests/analyzer/case_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "analyzer/analyze.h"
#include "analyzer/words.h"
#include "present/advice/advice_words.h"
#include "present/death_words.h"
#include "present/rank_words.h"
#include "present/verdict_words.h"
#include "store/counters.h"

namespace stepscope::testing {
namespace {

const std::map<std::string, PhaseKind> kPhases = {
    {"input", PhaseKind::kInput},         {"input_end", PhaseKind::kInputEnd},
    {"forward", PhaseKind::kForward},     {"backward", PhaseKind::kBackward},
    {"optimizer", PhaseKind::kOptimizer}, {"zero_grad", PhaseKind::kZeroGrad},
    {"scope", PhaseKind::kScope},         {"step", PhaseKind::kStep},
    {"sampler", PhaseKind::kSampler},     {"ops_begin", PhaseKind::kOpsBegin},
    {"ops_end", PhaseKind::kOpsEnd}};

const std::map<std::string, OpScope> kOps = {{"op", OpScope::kFunction},
                                             {"backward-op", OpScope::kBackwardFunction},
                                             {"user-op", OpScope::kUser}};

bool parse_range(const std::string& text, std::int64_t& start, std::int64_t& end) {
  const int read = std::sscanf(text.c_str(), "%ld-%ld", &start, &end);
  if (read == 1) end = start;
  return read >= 1;
}

std::string rest_of(std::istringstream& words) {
  std::string rest;
  std::getline(words >> std::ws, rest);
  return rest;
}

// "cpu=39 train": 39, and "train" is left.
void take_number(const char* pattern, std::string& text, std::int64_t& number) {
  if (std::sscanf(text.c_str(), pattern, &number) != 1) return;
  std::istringstream words(text);
  words >> text;
  text = rest_of(words);
}

bool parse_event(const std::string& word, std::istringstream& words, ThreadId thread,
                 RecordingBuilder& builder) {
  std::string range;
  std::int64_t start = 0, end = 0, cpu = 0;
  if (!(words >> range) || !parse_range(range, start, end) || thread == ThreadId::kNone)
    return false;
  std::string name = rest_of(words);
  if (kPhases.contains(word)) {
    take_number("cpu=%ld", name, cpu);
    builder.phase(thread, kPhases.at(word), start, end, cpu, name);
    return true;
  }
  std::int64_t sequence = -1, correlation = 0;
  if (word == "call") {
    take_number("corr=%ld", name, correlation);
    builder.call(thread, name, start, end, correlation);
    return true;
  }
  take_number("seq=%ld", name, sequence);
  if (!kOps.contains(word)) return false;
  const OpScope scope = kOps.at(word);
  const auto in = scope == OpScope::kBackwardFunction ? PhaseKind::kBackward : PhaseKind::kNone;
  builder.op(thread, name, start, end, scope, in);
  builder.ops().back().sequence = sequence;
  return true;
}

// What the lines below are about.
struct Subject {
  std::int64_t process = 1;
  ThreadId thread = ThreadId::kNone;
  StreamId stream = StreamId::kNone;
};

// "copy 92-95 corr=3 HtoD"
bool parse_activity(const std::string& word, std::istringstream& words, StreamId stream,
                    RecordingBuilder& builder) {
  std::string range;
  std::int64_t start = 0, end = 0, correlation = 0;
  if (!(words >> range) || !parse_range(range, start, end) || stream == StreamId::kNone)
    return false;
  std::string name = rest_of(words);
  take_number("corr=%ld", name, correlation);
  if (word == "kernel") {
    builder.kernel(stream, name, start, end, correlation);
    return true;
  }
  const Activity activity{stream, session_time(start), Duration(end - start), correlation};
  if (word == "memset") {
    builder.memsets.push_back({activity, 0});
    return true;
  }
  for (int kind = 0; kind <= static_cast<int>(CopyKind::kPeerToPeer); ++kind) {
    if (name != copy_kind_name(static_cast<CopyKind>(kind))) continue;
    builder.copies.push_back({activity, static_cast<CopyKind>(kind)});
    return true;
  }
  return false;
}

bool parse_process_line(const std::string& word, std::istringstream& words, Subject& subject,
                        RecordingBuilder& builder) {
  if (word == "process") {
    words >> subject.process;
    std::int64_t rank = -1, parent = 0;
    std::string option = rest_of(words);
    take_number("rank=%ld", option, rank);
    take_number("parent=%ld", option, parent);
    builder.process(subject.process, rank, parent);
    return true;
  }
  const ProcessId process = builder.process(subject.process);
  std::int64_t at = 0;
  if (word == "died") {
    std::string how;
    ProcessEnd end;
    end.process = process;
    words >> how >> end.code >> at;
    end.how = how == "signal" ? EndKind::kSignal
              : how == "exit" ? EndKind::kExit
                              : EndKind::kReplaced;
    end.at = session_time(at);
    std::string options = rest_of(words);
    take_number("step=%ld", options, end.step);
    end.out_of_memory = options == "oom";
    builder.ends.push_back(end);
    return true;
  }
  if (word == "sample") {
    std::string name;
    std::int64_t value = 0;
    words >> name >> at >> value;
    const Counter* counter = find_counter(name);
    if (counter == nullptr) return false;
    builder.samples.push_back({counter->of_machine ? ProcessId::kNone : process,
                               builder.intern(name), session_time(at), value});
    return true;
  }
  if (word != "unfinished") return false;
  words >> at;
  const auto open =
      std::count_if(builder.unfinished.begin(), builder.unfinished.end(),
                    [&](const UnfinishedOp& op) { return op.thread == subject.thread; });
  builder.unfinished.push_back({subject.thread, builder.intern(rest_of(words)), session_time(at),
                                PhaseKind::kNone, static_cast<std::uint8_t>(open)});
  return true;
}

bool parse_line(const std::string& line, CaseFile& file, Subject& subject) {
  std::istringstream words(line);
  std::string word;
  if (!(words >> word) || word[0] == '#') return true;
  RunFacts& facts = file.builder.facts;
  static const std::set<std::string> kAboutProcesses = {"process", "died", "sample", "unfinished"};
  if (kAboutProcesses.contains(word)) {
    return parse_process_line(word, words, subject, file.builder);
  } else if (word == "thread") {
    subject.thread = file.builder.thread(rest_of(words), subject.process);
  } else if (word == "stream") {
    std::int64_t number = 0, device = 0;
    words >> number;
    std::string option = rest_of(words);
    take_number("device=%ld", option, device);
    subject.stream = file.builder.stream(number, device, subject.process);
  } else if (word == "kernel" || word == "copy" || word == "memset") {
    return parse_activity(word, words, subject.stream, file.builder);
  } else if (word == "overhead") {
    std::int64_t overhead = 0;
    words >> overhead;
    facts.leaf_op_overhead = Duration(overhead);
  } else if (word == "cpus") {
    words >> facts.cpu_count;
  } else if (word == "windowed") {
    facts.windowed = true;
  } else if (word == "lost") {
    Loss loss;
    words >> loss.kind >> loss.count;
    file.builder.losses.push_back(loss);
  } else if (word == "show") {
    while (words >> word) file.show.push_back(word);
  } else {
    return parse_event(word, words, subject.thread, file.builder);
  }
  return true;
}

bool shows(const std::vector<std::string>& show, const char* part) {
  return std::find(show.begin(), show.end(), part) != show.end();
}

void print_step(std::ostream& out, const Step& step) {
  out << "step " << step.number << " " << to_ns(step.start) << "-" << to_ns(step.end())
      << (step.paused > Duration{0} ? " paused " + std::to_string(to_ns(step.paused)) : "")
      << (step.steady ? "" : " warm-up") << (step.ops_recorded ? "" : " no-ops") << "\n";
  std::vector<std::string> lines;
  for (const StepTime& time : step.times) {
    lines.push_back(
        std::string("  ") + category_name(time.category) +
        (time.phase == PhaseKind::kNone ? "" : std::string("/") + phase_name(time.phase)) +
        (time.label.empty() ? "" : ":" + time.label) + " " + std::to_string(to_ns(time.exposed)) +
        (to_ns(time.hidden) == 0 ? "" : " hidden " + std::to_string(to_ns(time.hidden))) + "\n");
  }
  std::sort(lines.begin(), lines.end());
  for (const std::string& text : lines) out << text;
}

void print_loop(std::ostream& out, const LoopReport& loop, const std::vector<std::string>& show) {
  out << "loop " << loop.thread_name << " " << marker_name(loop.marker) << " " << loop.steps.size()
      << (loop.steps.size() == 1 ? " step" : " steps");
  if (loop.device != DeviceId::kNone) out << " on device " << loop.device_number;
  out << "\n";
  if (shows(show, "batches")) out << "batches " << loop.batches_per_step << " a step\n";
  if (shows(show, "steps")) {
    for (const Step& step : loop.steps) print_step(out, step);
  }
  if (shows(show, "wall")) {
    for (const Step& step : loop.steps) {
      out << "step " << step.number << " " << to_ns(step.start) << "-" << to_ns(step.end())
          << (step.paused > Duration{0} ? " paused " + std::to_string(to_ns(step.paused)) : "")
          << "\n";
    }
  }
  if (shows(show, "segments")) {
    for (const LoopSegment& segment : loop.segments) {
      out << "segment " << segment_name(segment.kind) << " " << to_ns(segment.start) << "-"
          << to_ns(segment.start + segment.dur) << " after " << segment.step << ", batches "
          << segment.batches << " input " << to_ns(segment.input) << "\n";
    }
  }
  if (shows(show, "ops")) {
    for (const OpRow& op : loop.ops) {
      out << "op " << op.name << " " << op.phase << " calls " << op.calls << " self " << op.self_ns
          << " launch " << op.launch_ns << "\n";
    }
  }
  if (shows(show, "input")) {
    out << "input " << (loop.input.inferred ? "inferred" : loop.input.loader) << " waits "
        << loop.input.waits << " wait " << loop.input.wait_ns << " busy " << loop.input.busy_ns
        << "\n";
  }
  if (shows(show, "verdict")) {
    const LoopVerdict& verdict = loop.verdict;
    out << "verdict " << (verdict.degree.empty() ? "" : verdict.degree + " ") << verdict.kind << " "
        << percent_text(verdict.share) << ", " << verdict.steps
        << (verdict.steps == 1 ? " step" : " steps") << ", confidence " << verdict.confidence
        << "\n";
    out << "because " << verdict_sentence(loop) << "\n";
    for (const std::string& doubt : verdict_doubts(loop)) out << "doubt " << doubt << "\n";
  }
  if (shows(show, "advice")) {
    for (const Advice& advice : make_advice(loop)) {
      out << "advice " << advice.rule << " step " << advice.predicted_step_ns << " saves "
          << advice.saves_ns << ": " << advice.title << ", " << advice.why << "\n";
    }
  }
  if (shows(show, "late")) out << "late " << loop.late_ops << "\n";
}

}  // namespace

CaseFile parse_case(const std::string& path) {
  CaseFile file;
  file.path = path;
  std::ifstream in(path);
  if (!in) file.problem = path + ": cannot be read";
  Subject subject;
  bool expecting = false;
  for (std::string line; std::getline(in, line);) {
    if (expecting) {
      file.expected += line + "\n";
    } else if (line == "expect") {
      expecting = true;
    } else if (!parse_line(line, file, subject)) {
      file.problem = path + ": cannot read the line '" + line + "'";
    }
  }
  if (!expecting) file.problem = path + ": no expect line";
  return file;
}

std::string answer(const RecordedRun& recording, const std::vector<std::string>& show) {
  const auto report = analyze(recording);
  if (!report.ok()) return "error " + report.status().message() + "\n";
  std::ostringstream out;
  if (shows(show, "deaths")) {
    for (const std::string& death : death_sentences(*report)) out << "death " << death << "\n";
  }
  if (shows(show, "ranks") && report->ranks) {
    const RankReport& ranks = *report->ranks;
    out << "straggler " << (ranks.straggler ? std::to_string(*ranks.straggler) : "none") << "\n";
    for (const RankRow& row : ranks.rows) {
      out << "rank " << row.rank << " process " << row.pid << " step " << std::llround(row.step_ns)
          << " work " << std::llround(row.work_ns()) << " waits " << std::llround(row.waits_ns)
          << " costs " << std::llround(row.costs_ns) << " last in " << row.last_in << "\n";
    }
    out << "because " << ranks_sentence(ranks) << "\n";
    out << "steps " << rank_steps_sentence(ranks) << "\n";
  }
  if (report->loops.empty()) out << "no-steps " << no_steps_text(*report) << "\n";
  if (report->whole && shows(show, "whole")) {
    const LoopReport& whole = *report->whole;
    out << "whole " << whole.thread_name << " " << whole.wall.mean << "\n";
    for (const StepTime& time : whole.steps.front().times)
      out << "  " << category_name(time.category) << " " << to_ns(time.exposed) << "\n";
    for (const OpRow& op : whole.ops)
      out << "  op " << op.name << " calls " << op.calls << " self " << op.self_ns << "\n";
  }
  for (const LoopReport& loop : report->loops) print_loop(out, loop, show);
  return out.str();
}

}  // namespace stepscope::testing
