#include "profiler/recorder/stack_recording.h"

#include <string>
#include <utility>
#include <vector>

namespace stepscope {

void StackRecording::add(pid_t pid, OwnedFd memory, OwnedFd maps, const RegionHeader* region) {
  sampler_.add(pid, std::move(memory), std::move(maps), region);
}

Status StackRecording::write(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock) {
  const StackBatch batch = sampler_.take();
  std::vector<StackFrame> frames;
  frames.reserve(batch.frames.size());
  for (const StackBatch::Frame& frame : batch.frames) {
    frames.push_back({static_cast<FrameId>(frame.caller), writer.intern(frame.function),
                      writer.intern(frame.file), frame.line});
  }
  // Frames first: what cannot be stored of the samples leaves no gap in their ids.
  if (Status status = frames.empty() ? Status() : writer.add(frames); !status.ok()) return status;
  std::vector<StackSample> samples;
  samples.reserve(batch.samples.size());
  for (const StackBatch::Sample& sample : batch.samples) {
    const auto thread = threads.row_of(writer, sample.pid, sample.tid);
    if (!thread.ok()) return thread.status();
    if (*thread == WatchedThreadId::kNone) continue;
    samples.push_back({*thread, clock.to_session(sample.at), static_cast<FrameId>(sample.frame),
                       sample.awaited, writer.intern(sample.blocked)});
  }
  return samples.empty() ? Status() : writer.add(samples);
}

Status StackRecording::store(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock) {
  if (rate_ <= 0) return {};
  for (const ThreadWatch::Root& process : threads.processes()) {
    if (!sampler_.knows(process.pid)) sampler_.add_unrecorded(process.pid);
  }
  return write(writer, threads, clock);
}

Status StackRecording::finish(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock) {
  if (rate_ <= 0) return writer.set_meta(kStackRateMeta, "0");
  if (Status status = write(writer, threads, clock); !status.ok()) return status;
  const SamplerFacts facts = sampler_.facts();
  const std::pair<const char*, std::int64_t> numbers[] = {{kStackRateMeta, rate_},
                                                          {kStacksTornMeta, facts.torn},
                                                          {kStackCpuMeta, facts.cpu_ns},
                                                          {kStackLateP50Meta, facts.late_p50_ns},
                                                          {kStackLateP99Meta, facts.late_p99_ns}};
  for (const auto& [key, number] : numbers) {
    if (Status status = writer.set_meta(key, std::to_string(number)); !status.ok()) return status;
  }
  return facts.notes.empty() ? Status() : writer.set_meta(kStackNoteMeta, facts.notes.front());
}

}  // namespace stepscope
