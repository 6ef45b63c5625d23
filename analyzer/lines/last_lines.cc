#include "analyzer/lines/last_lines.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "analyzer/printable.h"

namespace stepscope {
namespace {

constexpr std::chrono::seconds kLongestAgo{1};
constexpr std::size_t kMostThreads = 32;

std::string text_of(const StackFrame& frame, const RecordedRun& recording) {
  const std::string file = told_file(recording.text(frame.file), recording.facts.working_folder);
  return file + (frame.line > 0 ? ":" + std::to_string(frame.line) : "") + " " +
         std::string(recording.text(frame.function));
}

std::vector<LastLine> last_lines_of(const ProcessReport& process, const RecordedRun& recording,
                                    const StackHistory& history) {
  std::vector<LastLine> lines;
  for (const StoredWatchedThread& thread : recording.watched_threads) {
    const auto samples = history.samples().find(thread.id);
    if (thread.pid != process.pid || samples == history.samples().end()) continue;
    const StackSample& last = samples->second.back();
    if (process.end->at - last.at > kLongestAgo || lines.size() >= kMostThreads) continue;
    const OwnFrame where = history.code().of(last.frame);
    LastLine line;
    line.tid = thread.tid;
    line.thread = thread.name;
    const bool own = where.own != FrameId::kNone;
    line.place = text_of(history.code().frame(own ? where.own : where.innermost), recording);
    if (own && where.own != where.innermost)
      line.inside = text_of(history.code().frame(where.innermost), recording);
    line.blocked = recording.text(last.blocked);
    line.before_ns = std::max<std::int64_t>(to_ns(process.end->at - last.at), 0);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

void add_last_lines(const RecordedRun& recording, const StackHistory& history,
                    std::vector<ProcessReport>& processes) {
  for (ProcessReport& process : processes) {
    if (!process.end || process.died.empty()) continue;
    process.last_lines = last_lines_of(process, recording, history);
    const auto main = std::ranges::find(process.last_lines, process.pid, &LastLine::tid);
    if (main == process.last_lines.end() || process.sentence.empty()) continue;
    process.sentence += " Its main thread was in " + printable(main->place) +
                        (main->inside.empty() ? "" : " (" + printable(main->inside) + ")") + ".";
  }
}

}  // namespace stepscope
