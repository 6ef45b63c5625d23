#include "analyzer/lines/last_lines.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/lines/find_lines.h"

namespace stepscope {
namespace {

constexpr std::chrono::seconds kLongestAgo{1};
constexpr std::size_t kMaxThreads = 32;

std::string text_of(const StackFrame& frame, const RecordedRun& recording) {
  const std::string file = display_file(recording.text(frame.file), recording.facts.working_folder);
  return file + (frame.line > 0 ? ":" + std::to_string(frame.line) : "") + " " +
         std::string(recording.text(frame.function));
}

// The line of a sample that was taken at most kLongestAgo before `end`.
std::optional<LastLine> line_of(const StackSample& sample, const StoredWatchedThread& thread,
                                SessionTime end, const RecordedRun& recording,
                                const OwnCode& code) {
  if (end - sample.at > kLongestAgo) return std::nullopt;
  const OwnFrame where = code.of(sample.frame);
  LastLine line;
  line.tid = thread.tid;
  line.thread = thread.name;
  const bool own = where.own != FrameId::kNone;
  line.place = text_of(code.frame(own ? where.own : where.innermost), recording);
  if (own && where.own != where.innermost)
    line.inside = text_of(code.frame(where.innermost), recording);
  line.blocked = recording.text(sample.blocked);
  line.before_ns = std::max<std::int64_t>(to_ns(end - sample.at), 0);
  return line;
}

std::vector<LastLine> last_lines_of(const ProcessReport& process, const RecordedRun& recording,
                                    const StackHistory& history) {
  std::vector<LastLine> lines;
  for (const StoredWatchedThread& thread : recording.watched_threads) {
    const auto samples = history.samples().find(thread.id);
    if (thread.pid != process.pid || samples == history.samples().end()) continue;
    auto line = line_of(samples->second.back(), thread, process.end->at, recording, history.code());
    if (line && lines.size() < kMaxThreads) lines.push_back(*std::move(line));
  }
  return lines;
}

}  // namespace

void add_last_lines(const RecordedRun& recording, const StackHistory& history,
                    std::vector<ProcessReport>& processes) {
  for (ProcessReport& process : processes) {
    if (!process.end || !process.died) continue;
    process.last_lines = last_lines_of(process, recording, history);
  }
}

std::vector<LastLine> lines_now(const RecordedRun& recording, const StackHistory& history,
                                const LoopReport& loop, SessionTime now) {
  const StackSample *of_loop = nullptr, *awaited = nullptr;
  const StoredWatchedThread *loop_thread = nullptr, *maker = nullptr;
  const BatchMakers makers(recording, loop);
  for (const StoredWatchedThread& thread : recording.watched_threads) {
    const auto samples = history.samples().find(thread.id);
    if (samples == history.samples().end()) continue;
    if (thread.tid == loop.tid && thread.pid == loop.pid) {
      of_loop = &samples->second.back();
      loop_thread = &thread;
    } else if (makers.contains(thread)) {
      const auto latest = std::find_if(samples->second.rbegin(), samples->second.rend(),
                                       [](const StackSample& sample) { return sample.awaited; });
      if (latest == samples->second.rend()) continue;
      if (awaited != nullptr && awaited->at >= latest->at) continue;
      awaited = &*latest;
      maker = &thread;
    }
  }
  std::vector<LastLine> lines;
  const auto add = [&](const StackSample* sample, const StoredWatchedThread* thread) {
    if (sample == nullptr) return;
    auto line = line_of(*sample, *thread, now, recording, history.code());
    if (line) lines.push_back(*std::move(line));
  };
  add(of_loop, loop_thread);
  if (!lines.empty()) add(awaited, maker);
  return lines;
}

}  // namespace stepscope
