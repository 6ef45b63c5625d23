#include "analyzer/recording.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include "analyzer/serving/lengths.h"
#include "analyzer/steps/segment_marks.h"

namespace stepscope {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<StepSpan> parse_step_window(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
  return StepSpan{*first, *last};
}

Result<std::optional<StepSpan>> read_step_window(const char* option, const std::string& text) {
  if (text.empty()) return std::optional<StepSpan>();
  const auto window = parse_step_window(text);
  if (!window) {
    return Status::error(ErrorKind::kUsage,
                         std::string(option) + " " + text + ": not a range; write 500-520 or 500");
  }
  return window;
}

std::string commit_text(const SourceFacts& source) {
  constexpr std::size_t kShort = 7;  // as git shortens it
  if (source.commit.empty()) return {};
  return source.commit.substr(0, kShort) + (source.dirty.value_or(false) ? ", modified" : "");
}

std::optional<bool> parse_switch(const std::optional<std::string>& text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return std::nullopt;
}

void take_op_switches(RecordedRun& recording) {
  const auto is_switch = [](const Phase& phase) {
    return phase.kind == PhaseKind::kOpsBegin || phase.kind == PhaseKind::kOpsEnd;
  };
  std::copy_if(recording.phases.begin(), recording.phases.end(),
               std::back_inserter(recording.op_switches), is_switch);
  std::erase_if(recording.phases, is_switch);
  if (std::any_of(recording.op_switches.begin(), recording.op_switches.end(),
                  [](const Phase& mark) { return mark.kind == PhaseKind::kOpsEnd; }))
    recording.facts.windowed = true;
}

void take_lost_times(RecordedRun& recording) {
  const auto is_lost = [](const Phase& phase) { return phase.kind == PhaseKind::kLost; };
  std::copy_if(recording.phases.begin(), recording.phases.end(),
               std::back_inserter(recording.lost_times), is_lost);
  std::erase_if(recording.phases, is_lost);
}

namespace {

// Moves the scopes whose names are marks of a kind to `marks`.
void take_marks(RecordedRun& recording, bool (*is_mark_name)(std::string_view),
                std::vector<Phase>& marks) {
  const auto is_mark = [&](const Phase& phase) {
    return phase.kind == PhaseKind::kScope && is_mark_name(recording.text(phase.name));
  };
  std::copy_if(recording.phases.begin(), recording.phases.end(), std::back_inserter(marks),
               is_mark);
  if (!marks.empty()) std::erase_if(recording.phases, is_mark);
}

}  // namespace

void take_lengths(RecordedRun& recording) {
  take_marks(recording, is_lengths_mark, recording.lengths);
}

void take_modes(RecordedRun& recording) { take_marks(recording, is_mode_mark, recording.modes); }

std::map<WatchedThreadId, ThreadId> recorded_threads(const RecordedRun& recording) {
  std::map<std::pair<ProcessId, std::int64_t>, ThreadId> ids;  // by process and tid
  for (const StoredThread& thread : recording.threads)
    ids[{thread.process, thread.tid}] = thread.id;
  std::map<ProcessId, std::int64_t> pids;
  for (const StoredProcess& process : recording.processes) pids[process.id] = process.pid;
  std::map<WatchedThreadId, ThreadId> recorded;
  for (const StoredWatchedThread& watched : recording.watched_threads) {
    const auto pid = pids.find(watched.process);
    const auto id = ids.find({watched.process, watched.tid});
    // A process that is not recorded is watched as its parent's.
    if (id == ids.end() || pid == pids.end() || pid->second != watched.pid) continue;
    recorded[watched.id] = id->second;
  }
  return recorded;
}

std::vector<Phase> phases_of(const RecordedRun& recording, ThreadId thread) {
  const auto& phases = recording.phases;
  const auto first = std::partition_point(phases.begin(), phases.end(),
                                          [thread](const Phase& p) { return p.thread < thread; });
  const auto last = std::partition_point(first, phases.end(),
                                         [thread](const Phase& p) { return p.thread == thread; });
  return {first, last};
}

}  // namespace stepscope
