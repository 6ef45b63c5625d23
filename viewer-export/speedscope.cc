#include "viewer-export/speedscope.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "viewer-export/json_text.h"
#include "viewer-export/stack_frames.h"
#include "viewer-export/stack_spans.h"

namespace stepscope {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
constexpr std::string_view kSchema = "https://www.speedscope.app/file-format-schema.json";

// Consecutive samples with the same stack.
struct Run {
  FrameId frame = FrameId::kNone;  // kNone: unknown
  Duration length{0};
};

struct Profile {
  SessionTime start;
  SessionTime end;
  std::vector<Run> runs;

  void add(FrameId frame, Duration length) {
    if (!runs.empty() && runs.back().frame == frame) {
      runs.back().length += length;
    } else {
      runs.push_back({frame, length});
    }
  }
  void add(FrameId frame, const TimeRange& range) {
    if (runs.empty()) start = end = range.start;
    if (end < range.start) add(FrameId::kNone, range.start - end);
    add(frame, range.length());
    end = range.end;
  }
};

// "python 4242 · pt_data_worker 4250": the process and the thread. A process has the name of its
// main thread.
std::map<WatchedThreadId, std::string> titles_of(const std::vector<StoredWatchedThread>& threads) {
  std::map<std::int64_t, std::string> processes;
  for (const StoredWatchedThread& thread : threads) {
    if (thread.tid == thread.pid) processes.try_emplace(thread.pid, thread.name);
  }
  std::map<WatchedThreadId, std::string> titles;
  for (const StoredWatchedThread& thread : threads) {
    const std::string& process = processes[thread.pid];
    titles[thread.id] = (process.empty() ? "process" : process) + " " + std::to_string(thread.pid) +
                        " · " + thread_title(thread);
  }
  return titles;
}

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const StackFrames& frames, ByteSink& sink)
      : frames_(frames), sink_(sink), numbers_(frames.size() + 1) {}

  void begin(const std::string& name) {
    put("{\"$schema\":" + json_quoted(kSchema) +
        ",\n\"exporter\":\"stepscope@" STEPSCOPE_VERSION "\",\n\"name\":" + json_quoted(name) +
        ",\n\"activeProfileIndex\":0,\n");
  }
  // Writes the frames that `profiles` use. The tree has a frame once for each path to it, the file
  // only once.
  void write_frames(const std::map<WatchedThreadId, Profile>& profiles);
  void write_profile(const std::string& name, const Profile& profile, bool is_first);
  void put(const std::string& text) {
    text_ += text;
    if (text_.size() >= kBufferBytes) flush();
  }
  Status finish() {
    flush();
    if (status_.ok()) status_ = sink_.finish();
    return status_;
  }

 private:
  using Place = std::tuple<StringId, StringId, std::int64_t>;  // function, file, line

  void flush() {
    if (status_.ok()) status_ = sink_.write(text_);
    text_.clear();
  }
  void write_frame(FrameId id);
  std::int64_t& number(FrameId id) { return numbers_[static_cast<std::size_t>(id)]; }

  const StackFrames& frames_;
  ByteSink& sink_;
  std::vector<std::int64_t> numbers_;  // of each frame: its place in the file, from 1; 0: not in it
  std::map<Place, std::int64_t> places_;
  std::vector<FrameId> path_;
  std::string text_;
  Status status_;
};

void SpeedscopeWriter::write_frame(FrameId id) {
  const StackFrame& frame = frames_.at(id);
  const Place place(frame.function, frame.file, frame.line);
  const auto next = static_cast<std::int64_t>(places_.size()) + 1;
  const auto [known, is_new] = places_.try_emplace(place, next);
  number(id) = known->second;
  if (!is_new) return;
  std::string json = next == 1 ? "\n" : ",\n";
  json += "{\"name\":" + json_quoted(frames_.name(id));
  if (!frames_.file(id).empty()) json += ",\"file\":" + json_quoted(frames_.file(id));
  if (frame.line > 0) json += ",\"line\":" + std::to_string(frame.line);
  put(json + "}");
}

void SpeedscopeWriter::write_frames(const std::map<WatchedThreadId, Profile>& profiles) {
  put("\"shared\":{\"frames\":[");
  for (const auto& [thread, profile] : profiles) {
    for (const Run& run : profile.runs) {
      for (FrameId id = run.frame; id != FrameId::kNone && number(id) == 0;
           id = frames_.at(id).caller) {
        write_frame(id);
      }
    }
  }
  put("\n]},\n");
}

void SpeedscopeWriter::write_profile(const std::string& name, const Profile& profile,
                                     bool is_first) {
  put(std::string(is_first ? "" : ",") + "\n{\"type\":\"sampled\",\"name\":" + json_quoted(name) +
      ",\"unit\":\"nanoseconds\",\"startValue\":" + std::to_string(to_ns(profile.start)) +
      ",\"endValue\":" + std::to_string(to_ns(profile.end)) + ",\n\"samples\":[");
  for (const Run& run : profile.runs) {
    frames_.path_to(run.frame, path_);
    std::string stack = &run == profile.runs.data() ? "[" : ",[";
    for (const FrameId id : path_) {
      if (id != path_.front()) stack += ',';
      stack += std::to_string(number(id) - 1);
    }
    put(stack + "]");
  }
  put("],\n\"weights\":[");
  for (const Run& run : profile.runs) {
    put((&run == profile.runs.data() ? "" : ",") + std::to_string(to_ns(run.length)));
  }
  put("]}");
}

}  // namespace

Result<StacksSummary> write_speedscope(const TraceReader& reader, const Cut& cut, ByteSink& sink) {
  const auto frames = StackFrames::read(reader);
  if (!frames.ok()) return frames.status();
  const auto threads = reader.watched_threads();
  if (!threads.ok()) return threads.status();
  const auto spans = StackSpans::read(reader, cut);
  if (!spans.ok()) return spans.status();
  if (spans->total() == 0) return no_stack_samples(reader, cut);
  std::map<WatchedThreadId, Profile> profiles;
  const Status read = spans->for_each([&](const StackSpan& span) {
    profiles[span.thread].add(frames->shown(span.frame), span.range);
  });
  if (!read.ok()) return read;

  const std::map<WatchedThreadId, std::string> titles = titles_of(*threads);
  SpeedscopeWriter writer(*frames, sink);
  writer.begin(reader.meta("command").value_or("stepscope"));
  writer.write_frames(profiles);
  writer.put("\"profiles\":[");
  bool is_first = true;
  for (const auto& [thread, profile] : profiles) {
    writer.write_profile(titles.at(thread), profile, is_first);
    is_first = false;
  }
  writer.put("\n]}\n");
  if (Status status = writer.finish(); !status.ok()) return status;
  return StacksSummary{spans->total(), static_cast<std::int64_t>(profiles.size()), spans->every(),
                       spans->skipped()};
}

}  // namespace stepscope
