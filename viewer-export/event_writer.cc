#include "viewer-export/event_writer.h"

#include <algorithm>
#include <cstring>

#include "viewer-export/json_text.h"

namespace stepscope {
namespace {

char* put(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// Room for an op without its name, track and args.
constexpr std::size_t kOpRoom = 128;
constexpr std::string_view kArrowTail = "{\"ph\":\"s\",";
constexpr std::string_view kArrowHead = "{\"ph\":\"f\",\"bp\":\"e\",";
constexpr std::string_view kForwardBackward = "fwdbwd";
constexpr std::string_view kLaunch = "ac2g";  // the PyTorch profiler's name for it
constexpr std::string_view kOpOpening = "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"";
constexpr std::string_view kUserOpening = "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"";
static_assert(kUserOpening.size() + 2 * kMicrosecondsRoom + 32 < kOpRoom);

std::string_view opening_of(const Op& op) {
  return op.scope == OpScope::kUser ? kUserOpening : kOpOpening;
}

std::string microseconds(std::int64_t ns) {
  char digits[kMicrosecondsRoom];
  return {digits, write_microseconds(digits, ns)};
}

std::string hex(std::uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (; value != 0; value /= 16) text += kDigits[value % 16];
  text += "x0";
  std::ranges::reverse(text);
  return text;
}

}  // namespace

EventWriter::EventWriter(ByteSink& sink, const TraceReader& reader)
    : sink_(sink), names_(reader), buffer_(kBufferBytes) {}

void EventWriter::flush() {
  if (status_.ok() && used_ > 0) status_ = sink_.write({buffer_.data(), used_});
  used_ = 0;
}

char* EventWriter::reserve(std::size_t bytes) {
  if (buffer_.size() - used_ < bytes) {
    flush();
    if (buffer_.size() < bytes) buffer_.resize(bytes);  // a name of that length
  }
  return buffer_.data() + used_;
}

void EventWriter::append(std::string_view text) { commit(put(reserve(text.size()), text)); }

void EventWriter::event(std::string_view json) {
  append(first_ ? "\n" : ",\n");
  first_ = false;
  append(json);
}

void EventWriter::begin(std::string_view members) {
  append("{");
  append(members);
  append("\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

Status EventWriter::end(std::string_view members) {
  append("\n]");
  append(members);
  append("}\n");
  flush();
  if (status_.ok()) status_ = sink_.finish();
  return status_;
}

void EventWriter::op(const OpSlice& slice, const Track& track) {
  const Op& op = slice.op;
  const std::string_view name = names_.escaped(op.name);
  char* out = reserve(kOpRoom + name.size() + track.json.size());
  out = put(out, first_ ? "\n" : ",\n");
  first_ = false;
  out = put(out, opening_of(op));
  out = put(out, name);
  *out++ = '"';
  out = put(out, track.json);
  out = put(out, "\"ts\":");
  out = write_microseconds(out, to_ns(op.start));
  out = put(out, ",\"dur\":");
  out = write_microseconds(out, to_ns(op.dur));
  commit(out);
  if (op.sequence >= 0 || op.shapes != StringId::kNone) op_args(op);
  append("}");
  ++slices_;
  if (slice.flow_out != 0) flow_start(slice.flow_out, op.start, track);
  if (slice.flow_in != 0) {
    flow(kArrowHead, kForwardBackward, slice.flow_in, op.start, track);
    ++flows_;
  }
}

void EventWriter::op_args(const Op& op) {
  append(",\"args\":{");
  if (op.sequence >= 0) {
    char* out = put(reserve(128), "\"Sequence number\":");
    out = write_integer(out, static_cast<std::uint64_t>(op.sequence));
    if (op.forward_thread != 0) {
      out = put(out, ",\"Fwd thread id\":");
      out = write_integer(out, op.forward_thread);
    }
    commit(out);
  }
  if (op.shapes != StringId::kNone) {
    if (op.sequence >= 0) append(",");
    const std::string_view shapes = names_.escaped(op.shapes);
    const bool array = is_json_integer_array(shapes);
    append(array ? "\"Input Dims\":" : "\"Input Dims\":\"");
    append(shapes);
    if (!array) append("\"");
  }
  append("}");
}

void EventWriter::annotation(const Annotation& annotation, const Track& track) {
  std::string json = "{\"ph\":\"X\",\"cat\":" + json_quoted(annotation.category) +
                     ",\"name\":" + json_quoted(annotation.name) + track.json +
                     "\"ts\":" + microseconds(to_ns(annotation.range.start)) +
                     ",\"dur\":" + microseconds(to_ns(annotation.range.length()));
  if (!annotation.color.empty()) json += ",\"cname\":" + json_quoted(annotation.color);
  if (!annotation.args.empty()) json += ",\"args\":" + annotation.args;
  event(json + "}");
  ++slices_;
}

void EventWriter::counter(std::int64_t pid, std::string_view name, std::string_view series,
                          SessionTime time, double value) {
  event("{\"ph\":\"C\",\"name\":" + json_quoted(name) + ",\"pid\":" + std::to_string(pid) +
        ",\"ts\":" + microseconds(to_ns(time)) + ",\"args\":{" + json_quoted(series) + ":" +
        json_number(value) + "}}");
  ++counters_;
}

void EventWriter::process_mark(std::int64_t pid, std::string_view name, std::string_view category,
                               SessionTime time, std::string_view args) {
  event("{\"ph\":\"i\",\"s\":\"p\",\"cat\":" + json_quoted(category) +
        ",\"name\":" + json_quoted(name) + ",\"pid\":" + std::to_string(pid) +
        ",\"tid\":" + std::to_string(pid) + ",\"ts\":" + microseconds(to_ns(time)) +
        ",\"cname\":\"terrible\",\"args\":" + std::string(args) + "}");
}

void EventWriter::flow(std::string_view opening, std::string_view kind, std::uint64_t id,
                       SessionTime time, const Track& track) {
  std::string json(opening);
  json.append("\"cat\":\"").append(kind).append("\",\"name\":\"").append(kind);
  json +=
      "\",\"id\":\"" + hex(id) + "\"" + track.json + "\"ts\":" + microseconds(to_ns(time)) + "}";
  event(json);
}

void EventWriter::flow_start(std::uint64_t id, SessionTime time, const Track& track) {
  flow(kArrowTail, kForwardBackward, id, time, track);
}

void EventWriter::slice(std::string_view category, std::string_view name, const TimeRange& range,
                        const Track& track, std::string_view args) {
  std::string json = "{\"ph\":\"X\",\"cat\":\"";
  json.append(category).append("\",\"name\":\"").append(name).append("\"").append(track.json);
  json += "\"ts\":" + microseconds(to_ns(range.start)) +
          ",\"dur\":" + microseconds(to_ns(range.length())) + ",\"args\":";
  json.append(args).append("}");
  event(json);
  ++slices_;
}

void EventWriter::launch_arrow(std::uint64_t id, SessionTime from, const Track& from_track,
                               SessionTime to, const Track& to_track) {
  flow(kArrowTail, kLaunch, id, from, from_track);
  flow(kArrowHead, kLaunch, id, to, to_track);
  ++flows_;
}

void EventWriter::metadata(std::string_view what, std::int64_t pid, std::int64_t tid,
                           std::string_view args) {
  event("{\"ph\":\"M\",\"name\":" + json_quoted(what) + ",\"pid\":" + std::to_string(pid) +
        ",\"tid\":" + std::to_string(tid) + ",\"args\":" + std::string(args) + "}");
}

}  // namespace stepscope
