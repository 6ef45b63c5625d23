// The two functions that read a store; the rest of the analyzer sees plain values.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "analyzer/analyze.h"
#include "analyzer/recording.h"
#include "store/text_lines.h"

namespace stepscope {
namespace {

SourceFacts read_source(const TraceReader& reader) {
  SourceFacts source;
  source.root = reader.meta("git_root").value_or("");
  source.commit = reader.meta("git_commit").value_or("");
  const auto dirty = reader.meta("git_dirty");
  if (dirty == "yes" || dirty == "no") source.dirty = dirty == "yes";
  return source;
}

// Lines of RANK:HOST; anything else is ignored.
void read_rank_hosts(const TraceReader& reader, RunFacts& facts) {
  for (const std::string& line : split_lines(reader.meta("rank_hosts").value_or(""))) {
    std::int64_t rank = -1;
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data(), end, rank);
    if (error != std::errc() || rank < 0 || stop == end || *stop != ':' || stop + 1 == end)
      continue;
    const std::string& host = facts.rank_hosts[rank] = std::string(stop + 1, end);
    if (std::ranges::find(facts.hosts, host) == facts.hosts.end()) facts.hosts.push_back(host);
  }
}

RunFacts read_facts(const TraceReader& reader) {
  RunFacts facts;
  facts.command = reader.meta("command").value_or("");
  facts.program = reader.meta("program").value_or("");
  facts.arguments = split_lines(reader.meta("arguments").value_or(""));
  facts.environment = split_lines(reader.meta("environment").value_or(""));
  facts.working_folder = reader.meta("working_folder").value_or("");
  facts.source = read_source(reader);
  facts.python_version = reader.meta("python_version").value_or("");
  facts.numpy_version = reader.meta("numpy_version").value_or("");
  facts.torch_version = reader.meta("torch_version").value_or("");
  if (const auto host = reader.meta("host"); host && !host->empty()) facts.hosts.push_back(*host);
  read_rank_hosts(reader, facts);
  facts.duration_ns = reader.meta_int("end_ns", 0);
  facts.cpu_count = reader.meta_int("cpu_count", 0);
  facts.leaf_op_overhead =
      Duration(std::max<std::int64_t>(reader.meta_int("leaf_op_overhead_ns", 0), 0));
  facts.cudnn_benchmark = parse_switch(reader.meta("cudnn_benchmark"));
  facts.sampling = {reader.meta_int("lines_rate", 0),
                    reader.meta_int("lines_torn", 0),
                    reader.meta_int("lines_late_p99_ns", 0),
                    reader.meta("lines_note").value_or(""),
                    reader.meta("lines_native_note").value_or(""),
                    reader.meta_int("lines_native", 0),
                    Duration(std::max<std::int64_t>(reader.meta_int("native_period_ns", 0), 0))};
  facts.windowed = !reader.meta("window").value_or("").empty();
  facts.being_recorded = reader.being_recorded();
  facts.cut_off = reader.is_cut_off();
  facts.stopped_because = reader.meta("recording_stopped").value_or("");
  return facts;
}

std::int64_t latest_end_ns(const std::vector<Phase>& phases) {
  std::int64_t latest = 0;
  for (const Phase& phase : phases) latest = std::max(latest, to_ns(phase.start + phase.dur));
  return latest;
}

}  // namespace

Result<RecordedRun> read_recording(const TraceReader& reader) {
  RecordedRun recording;
  auto phases = reader.phases();
  if (!phases.ok()) return phases.status();
  auto losses = reader.losses();
  if (!losses.ok()) return losses.status();
  auto ends = reader.process_ends();
  if (!ends.ok()) return ends.status();
  auto unfinished = reader.unfinished_ops();
  if (!unfinished.ok()) return unfinished.status();
  auto watched = reader.watched_threads();
  if (!watched.ok()) return watched.status();
  auto frames = reader.frames();
  if (!frames.ok()) return frames.status();
  const auto op_count = reader.op_count();
  if (!op_count.ok()) return op_count.status();

  recording.facts = read_facts(reader);
  recording.processes = reader.processes();
  recording.threads = reader.threads();
  recording.phases = *std::move(phases);
  recording.losses = *std::move(losses);
  recording.ends = *std::move(ends);
  recording.unfinished = *std::move(unfinished);
  recording.op_count = *op_count;
  if (recording.facts.duration_ns == 0)
    recording.facts.duration_ns = latest_end_ns(recording.phases);
  recording.for_each_op = [&reader](const RecordedRun::OpVisitor& visit) {
    return reader.for_each_op(visit);
  };
  recording.for_each_sample = [&reader](const RecordedRun::SampleVisitor& visit) {
    return reader.for_each_sample(visit);
  };
  recording.watched_threads = *std::move(watched);
  recording.for_each_stretch = [&reader](const auto& visit) {
    return reader.for_each_stretch(visit);
  };
  recording.for_each_thread_reading = [&reader](const auto& visit) {
    return reader.for_each_thread_reading(visit);
  };
  recording.frames = *std::move(frames);
  recording.for_each_stack_sample = [&reader](const auto& visit) {
    return reader.for_each_stack_sample(visit);
  };
  recording.for_each_native_sample = [&reader](const auto& visit) {
    return reader.for_each_native_sample(visit);
  };
  recording.for_each_module_call = [&reader](const auto& visit) {
    return reader.for_each_module_call(visit);
  };
  recording.devices = reader.devices();
  recording.streams = reader.streams();
  recording.for_each_api_call = [&reader](const auto& visit) {
    return reader.for_each_api_call(visit);
  };
  recording.for_each_kernel = [&reader](const auto& visit) {
    return reader.for_each_kernel(visit);
  };
  recording.for_each_copy = [&reader](const auto& visit) { return reader.for_each_copy(visit); };
  recording.for_each_memset = [&reader](const auto& visit) {
    return reader.for_each_memset(visit);
  };
  recording.for_each_sync = [&reader](const auto& visit) { return reader.for_each_sync(visit); };
  recording.text = [&reader](StringId id) { return reader.text(id); };
  take_lengths(recording);
  take_modes(recording);
  take_op_switches(recording);
  take_lost_times(recording);
  return recording;
}

Result<AnalysisReport> analyze(const TraceReader& reader, const AnalyzeOptions& options) {
  const auto recording = read_recording(reader);
  if (!recording.ok()) return recording.status();
  return analyze(*recording, options);
}

}  // namespace stepscope
