#include "viewer-export/chrome_trace.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "viewer-export/death_marks.h"
#include "viewer-export/device_tracks.h"
#include "viewer-export/event_writer.h"
#include "viewer-export/json_text.h"
#include "viewer-export/op_tracks.h"
#include "viewer-export/run_row_texts.h"
#include "viewer-export/run_rows.h"
#include "viewer-export/sample_tracks.h"
#include "viewer-export/stack_tracks.h"
#include "viewer-export/track_map.h"

namespace stepscope {
namespace {

constexpr std::int64_t kProgressEvery = 1 << 17;

// The facts about the run that are copied into the trace, all as text.
constexpr std::string_view kMetaKeys[] = {"command",           "host",      "torch_version",
                                          "stepscope_version", "cpu_model", "wall_start_unix_ns"};

// Members before the events: what a person finds with `zcat trace.json.gz | head`, and viewers show
// as the trace's metadata.
std::string header_members(const TraceReader& reader, const Analysis& analysis,
                           const std::vector<Loss>& losses, const std::optional<StepRange>& steps) {
  std::string json = "\"otherData\":{\"producer\":\"stepscope\"";
  for (const std::string_view key : kMetaKeys) {
    const std::string value = reader.meta(key).value_or("");
    if (!value.empty()) json += ',' + json_quoted(key) + ':' + json_quoted(value);
  }
  if (steps) {
    json +=
        ",\"steps\":\"" + std::to_string(steps->first) + "-" + std::to_string(steps->last) + '"';
  }
  json += ",\"losses\":" + losses_json(losses) + ",\"verdicts\":[";
  for (const Verdict& verdict : analysis.verdicts) {
    if (&verdict != analysis.verdicts.data()) json += ',';
    json += verdict_json(verdict);
  }
  return json + "]},\n";
}

void write_process_names(const TrackMap& tracks, const Analysis& analysis, EventWriter& writer) {
  for (const TrackedProcess& process : tracks.processes()) {
    writer.metadata("process_name", process.pid, 0, "{\"name\":" + json_quoted(process.name) + "}");
    writer.metadata("process_sort_index", process.pid, 0,
                    "{\"sort_index\":" + std::to_string(process.pid) + "}");
  }
  if (analysis.verdicts.empty()) return;
  writer.metadata("process_labels", tracks.processes().front().pid, 0,
                  "{\"labels\":" + json_quoted(headline(analysis.verdicts.front())) + "}");
}

void write_track_name(const Track& track, EventWriter& writer) {
  writer.metadata("thread_name", track.pid, track.tid,
                  "{\"name\":" + json_quoted(track.name) + "}");
  writer.metadata("thread_sort_index", track.pid, track.tid,
                  "{\"sort_index\":" + std::to_string(track.tid) + "}");
}

Status write_ops(const TraceReader& reader, const Cut& cut, const ChromeTraceOptions& options,
                 OpTracks& ops, const EventWriter& writer) {
  std::int64_t read = 0;
  Status status = reader.for_each_op([&](const Op& op) {
    if (cut.has(op.start)) ops.add(op);
    if (++read % kProgressEvery == 0 && options.progress) options.progress(read);
    return writer.status().ok();
  });
  ops.finish();
  return status;
}

std::optional<TimeRange> union_of(const std::optional<TimeRange>& a,
                                  const std::optional<TimeRange>& b) {
  if (!a || !b) return a ? a : b;
  return TimeRange{std::min(a->start, b->start), std::max(a->end, b->end)};
}

Status check_not_empty(const TraceReader& reader, const std::vector<Phase>& phases) {
  const Result<std::int64_t> ops = reader.op_count();
  if (!ops.ok()) return ops.status();
  if (*ops > 0 || !phases.empty() || !reader.devices().empty()) return {};
  return Status::error(ErrorKind::kBadInput,
                       "the store contains no events: nothing was recorded, or nothing yet");
}

}  // namespace

Result<ChromeTraceSummary> write_chrome_trace(const TraceReader& reader, const Analysis& analysis,
                                              const ChromeTraceOptions& options, ByteSink& sink) {
  const auto phases = reader.phases();
  if (!phases.ok()) return phases.status();
  const auto losses = reader.losses();
  if (!losses.ok()) return losses.status();
  const auto ends = reader.process_ends();
  if (!ends.ok()) return ends.status();
  const auto unfinished = reader.unfinished_ops();
  if (!unfinished.ok()) return unfinished.status();
  if (Status status = check_not_empty(reader, *phases); !status.ok()) return status;
  const Result<Cut> cut = cut_of(analysis, options.steps);
  if (!cut.ok()) return cut.status();

  TrackMap tracks(reader.processes(), reader.threads());
  DeviceTracks devices(reader, *cut, tracks);
  const Result<bool> machine = has_machine_samples(reader);
  if (!machine.ok()) return machine.status();
  if (*machine) tracks.add_machine();
  const RunRows rows(reader, analysis, *phases, *losses, *cut, tracks);
  tracks.number_threads();

  EventWriter writer(sink, reader);
  writer.begin(header_members(reader, analysis, *losses, options.steps));
  write_process_names(tracks, analysis, writer);
  for (const Track& row : tracks.rows()) write_track_name(row, writer);
  for (const auto& [id, track] : tracks.threads()) write_track_name(track, writer);
  rows.write_steps(writer);
  rows.write_phases(writer);
  if (Status status = SampleTracks(reader, *cut, tracks, writer).write(); !status.ok())
    return status;
  const std::int64_t skipped_unfinished =
      write_unfinished_ops(reader, *unfinished, *ends, *cut, tracks, writer);
  write_deaths(*ends, *cut, tracks, writer);

  OpTracks ops(reader, tracks, writer);
  if (Status status = write_ops(reader, *cut, options, ops, writer); !status.ok()) return status;
  if (Status status = devices.write(writer); !status.ok()) return status;
  const auto lanes = static_cast<std::int64_t>(tracks.lanes().size());
  StackTracks stacks(reader, *cut, tracks, writer);
  if (Status status = stacks.write(); !status.ok()) return status;
  for (const Track& lane : tracks.lanes()) write_track_name(lane, writer);
  const auto whole = union_of(union_of(rows.extent(), ops.extent()), devices.extent());
  rows.write_verdicts(writer, whole.value_or(TimeRange{}));

  ChromeTraceSummary summary;
  summary.ops = ops.drawn();
  summary.phases = rows.phase_count();
  summary.steps = rows.step_count();
  summary.activities = devices.activities();
  summary.calls = devices.calls();
  summary.slices = writer.slices();
  summary.counters = writer.counters();
  summary.flows = writer.flows();
  summary.lanes = lanes;
  summary.skipped =
      rows.skipped() + ops.skipped() + devices.skipped() + stacks.skipped() + skipped_unfinished;
  std::string trailer = ",\n\"stepscope\":{\"slices\":" + std::to_string(summary.slices) +
                        ",\"skipped\":" + std::to_string(summary.skipped);
  if (stacks.every() > 1) trailer += ",\"stack_samples_every\":" + std::to_string(stacks.every());
  if (Status status = writer.end(trailer + "}"); !status.ok()) return status;
  return summary;
}

}  // namespace stepscope
