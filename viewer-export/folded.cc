#include "viewer-export/folded.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/utf8.h"
#include "viewer-export/stack_frames.h"

namespace stepscope {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

// The size of the control character or line end at `at` (C0, C1, U+2028, U+2029); 0 for any other.
std::size_t control_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) < 0xa0) return 2;
  if (byte(0) == 0xe2 && byte(1) == 0x80 && (byte(2) == 0xa8 || byte(2) == 0xa9)) return 3;
  return 0;
}

// A name as one frame of a line: without what separates frames and lines (JavaScript and Perl end
// lines at some characters beyond ASCII, too), and without runs of spaces.
std::string harmless(std::string_view name) {
  const std::string clean = clean_utf8(name);
  std::string text;
  for (std::size_t at = 0; at < clean.size();) {
    const std::size_t control = control_bytes(clean, at);
    const char c = control > 0 ? ' ' : clean[at];
    if (c != ' ' || !text.ends_with(' ')) text += c == ';' ? ',' : c;
    at += std::max<std::size_t>(control, 1);
  }
  return text;
}

// The titles of the threads, with the process if two would have the same title.
std::map<WatchedThreadId, std::string> titles_of(const std::vector<StoredWatchedThread>& threads) {
  std::map<std::string, std::set<std::int64_t>> pids;
  for (const StoredWatchedThread& thread : threads) pids[thread_title(thread)].insert(thread.pid);
  std::map<WatchedThreadId, std::string> titles;
  for (const StoredWatchedThread& thread : threads) {
    std::string title = thread_title(thread);
    if (pids[title].size() > 1) title += " (pid " + std::to_string(thread.pid) + ")";
    titles[thread.id] = harmless(title);
  }
  return titles;
}

}  // namespace

Result<StacksSummary> write_folded(const TraceReader& reader, const Cut& cut, ByteSink& sink) {
  const auto frames = StackFrames::read(reader);
  if (!frames.ok()) return frames.status();
  const auto threads = reader.watched_threads();
  if (!threads.ok()) return threads.status();
  StacksSummary summary;
  std::map<std::pair<WatchedThreadId, FrameId>, std::int64_t> counts;
  const Status read = reader.for_each_stack_sample([&](const StackSample& sample) {
    if (!cut.has(sample.at)) return;
    ++counts[{sample.thread, frames->shown(sample.frame)}];
    ++summary.samples;
  });
  if (!read.ok()) return read;
  if (counts.empty()) return no_stack_samples(reader, cut);

  const std::map<WatchedThreadId, std::string> titles = titles_of(*threads);
  std::set<WatchedThreadId> written;
  std::vector<FrameId> path;
  std::string text;
  for (const auto& [stack, count] : counts) {
    written.insert(stack.first);
    text += titles.at(stack.first);
    frames->path_to(stack.second, path);
    for (const FrameId frame : path) text += ";" + harmless(frames->name(frame));
    text += " " + std::to_string(count) + "\n";
    if (text.size() < kBufferBytes) continue;
    if (Status status = sink.write(text); !status.ok()) return status;
    text.clear();
  }
  if (Status status = sink.write(text); !status.ok()) return status;
  if (Status status = sink.finish(); !status.ok()) return status;
  summary.threads = static_cast<std::int64_t>(written.size());
  return summary;
}

}  // namespace stepscope
