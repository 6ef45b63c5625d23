#include "viewer-export/death_marks.h"

#include <map>
#include <optional>
#include <string>

#include "viewer-export/json_text.h"

namespace stepscope {
namespace {

// "killed by SIGKILL (9), out of memory"; empty for a process that ended well.
std::string manner_of(const ProcessEnd& end) {
  switch (end.how) {
    case EndKind::kSignal:
      return (end.code > 0 ? "killed by " + signal_name(end.code) : std::string("killed")) +
             (end.out_of_memory ? ", out of memory" : "");
    case EndKind::kReplaced:
      return "became another program";
    case EndKind::kExit:
      break;
  }
  return end.code > 0 ? "exit code " + std::to_string(end.code) : "";
}

// When each thread ended: with its process, or with the recording.
class ThreadEnds {
 public:
  ThreadEnds(const TraceReader& reader, const std::vector<ProcessEnd>& ends) {
    std::map<ProcessId, SessionTime> of_process;
    for (const ProcessEnd& end : ends) of_process.try_emplace(end.process, end.at);
    for (const StoredThread& thread : reader.threads()) {
      const auto end = of_process.find(thread.process);
      if (end != of_process.end()) ends_[thread.id] = end->second;
    }
    const std::int64_t end = reader.meta_int("end_ns", -1);
    if (end >= 0) recording_ = session_time(end);
  }

  // Nothing if unknown.
  [[nodiscard]] std::optional<SessionTime> of(ThreadId thread) const {
    const auto end = ends_.find(thread);
    return end != ends_.end() ? std::optional(end->second) : recording_;
  }

 private:
  std::map<ThreadId, SessionTime> ends_;
  std::optional<SessionTime> recording_;
};

}  // namespace

std::int64_t write_unfinished_ops(const TraceReader& reader, const std::vector<UnfinishedOp>& ops,
                                  const std::vector<ProcessEnd>& ends, const Cut& cut,
                                  const TrackMap& tracks, EventWriter& writer) {
  if (ops.empty()) return 0;
  const ThreadEnds thread_ends(reader, ends);
  std::int64_t skipped = 0;
  for (const UnfinishedOp& op : ops) {
    if (!cut.has(op.start)) continue;
    const Track* const track = tracks.thread(op.thread);
    const auto end = thread_ends.of(op.thread);
    if (track == nullptr || to_ns(op.start) < 0 || !end || *end < op.start) {
      ++skipped;
      continue;
    }
    const std::string name(reader.text(op.name));
    writer.annotation({name.empty() ? "op" : name, "cpu_op", "terrible", TimeRange{op.start, *end},
                       "{\"unfinished\":true}"},
                      *track);
  }
  return skipped;
}

void write_deaths(const std::vector<ProcessEnd>& ends, const Cut& cut, const TrackMap& tracks,
                  EventWriter& writer) {
  for (const ProcessEnd& end : ends) {
    const std::string manner = manner_of(end);
    if (manner.empty() || to_ns(end.at) < 0) continue;
    // In a cut, a death exactly at the end counts too, because it ended the run.
    if (cut.range && (end.at < cut.range->start || end.at > cut.range->end)) continue;
    std::string args =
        "{\"how\":" + json_quoted(end_name(end.how)) + ",\"code\":" + json_integer(end.code);
    if (end.step > 0) args += ",\"step\":" + json_integer(end.step);
    args += std::string(",\"out of memory\":") + (end.out_of_memory ? "true" : "false") + '}';
    writer.process_mark(tracks.pid_of(end.process), manner, "death", end.at, args);
  }
}

}  // namespace stepscope
