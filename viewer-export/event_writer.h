// Writes the events of a Chrome trace as JSON text. The code for ops is hand-written for speed; all
// other events are rare.
//
// Thread safety: none. Memory: a buffer of kBufferBytes, and the escaped names (kNameBytes at
// most).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/trace_reader.h"
#include "viewer-export/byte_sink.h"
#include "viewer-export/name_cache.h"
#include "viewer-export/slice_order.h"
#include "viewer-export/track_map.h"

namespace stepscope {

// A slice other than an op. `name`, `category` and `color` are plain text.
struct Annotation {
  std::string name;
  std::string_view category;
  std::string_view color;  // a colour name of chrome://tracing; empty: by name
  TimeRange range;
  std::string args;  // a JSON object; empty: none
};

class EventWriter {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{256} << 10;

  // Both must outlive the writer.
  EventWriter(ByteSink& sink, const TraceReader& reader);

  // `members`: JSON members before the events, each with a comma after it.
  void begin(std::string_view members);
  // `members`: JSON members after the events, each with a comma before it. Finishes the sink.
  Status end(std::string_view members);

  void op(const OpSlice& slice, const Track& track);
  void annotation(const Annotation& annotation, const Track& track);
  // `series`: the unit. Counters of one process with one name are one track.
  void counter(std::int64_t pid, std::string_view name, std::string_view series, SessionTime time,
               double value);
  // An instant of a whole process.
  void process_mark(std::int64_t pid, std::string_view name, std::string_view category,
                    SessionTime time, std::string_view args);
  void flow_start(std::uint64_t id, SessionTime time, const Track& track);
  // A kernel, copy, memset or call. `name`: the inside of a JSON string; `args`: a JSON object.
  void slice(std::string_view category, std::string_view name, const TimeRange& range,
             const Track& track, std::string_view args);
  // An arrow from a call to what it launched. `id`: unique among the arrows.
  void launch_arrow(std::uint64_t id, SessionTime from, const Track& from_track, SessionTime to,
                    const Track& to_track);
  // "process_name", "thread_sort_index", …; `args`: a JSON object.
  void metadata(std::string_view what, std::int64_t pid, std::int64_t tid, std::string_view args);

  // The first error of the sink; later events are dropped.
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::int64_t slices() const { return slices_; }
  [[nodiscard]] std::int64_t counters() const { return counters_; }
  [[nodiscard]] std::int64_t flows() const { return flows_; }
  [[nodiscard]] NameCache& names() { return names_; }

 private:
  char* reserve(std::size_t bytes);  // room in the buffer
  void commit(char* end) { used_ = static_cast<std::size_t>(end - buffer_.data()); }
  void append(std::string_view text);
  void event(std::string_view json);  // one whole event
  void flush();
  void op_args(const Op& op);
  void flow(std::string_view opening, std::string_view kind, std::uint64_t id, SessionTime time,
            const Track& track);

  ByteSink& sink_;
  NameCache names_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  bool first_ = true;
  std::int64_t slices_ = 0;
  std::int64_t counters_ = 0;
  std::int64_t flows_ = 0;
  Status status_;
};

}  // namespace stepscope
