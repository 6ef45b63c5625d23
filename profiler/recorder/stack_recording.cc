#include "profiler/recorder/stack_recording.h"

#include <fcntl.h>

#include <string>
#include <utility>
#include <vector>

#include "profiler/stacks/program_counter.h"

namespace stepscope {

void StackRecording::add(pid_t pid, OwnedFd memory, OwnedFd maps, const RegionHeader* region) {
  if (rate_ <= 0) return;
  native_.add(pid, OwnedFd(fcntl(maps.get(), F_DUPFD_CLOEXEC, 0)));
  sampler_.add(pid, std::move(memory), std::move(maps), region);
}

void StackRecording::forget(pid_t pid) {
  sampler_.forget(pid);
  native_.forget(pid);
}

void StackRecording::take(pid_t pid, pid_t tid, const std::vector<NativeStack>& stacks) {
  native_.take(pid, tid, stacks);
}

namespace {

constexpr const char* kNoSymbols =
    "reading the symbols of C++ programs needs libdw.so.1, which is not installed (Debian: "
    "libdw1)";

FrameId row_of(const std::vector<FrameId>& rows, std::uint32_t number) {
  return number == 0 ? FrameId::kNone : rows[number - 1];
}

// Calls `visit` for each element of `found` whose thread has a row, with that row.
template <typename Found, typename Visit>
Status for_each_watched(TraceWriter& writer, ThreadWatch& threads, const std::vector<Found>& found,
                        const Visit& visit) {
  for (const Found& one : found) {
    const auto thread = threads.row_of(writer, one.pid, one.tid);
    if (!thread.ok()) return thread.status();
    if (*thread != WatchedThreadId::kNone) visit(*thread, one);
  }
  return {};
}

}  // namespace

Status StackRecording::write_frames(TraceWriter& writer,
                                    const std::vector<StackBatch::Frame>& found,
                                    std::vector<FrameId>& rows) {
  std::vector<StackFrame> frames;
  frames.reserve(found.size());
  for (const StackBatch::Frame& frame : found) {
    frames.push_back({row_of(rows, frame.caller), writer.intern(frame.function),
                      writer.intern(frame.file), frame.line});
    rows.push_back(static_cast<FrameId>(++frames_written_));
  }
  return frames.empty() ? Status() : writer.add(frames);
}

Status StackRecording::write(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock) {
  const StackBatch batch = sampler_.take();
  // Frames first, so that samples which cannot be stored leave no gap in the frames' ids.
  if (Status status = write_frames(writer, batch.frames, sampled_rows_); !status.ok())
    return status;
  std::vector<StackSample> samples;
  samples.reserve(batch.samples.size());
  const auto add = [&](WatchedThreadId thread, const StackBatch::Sample& sample) {
    samples.push_back({thread, clock.to_session(sample.at), row_of(sampled_rows_, sample.frame),
                       sample.awaited, writer.intern(sample.blocked)});
  };
  Status status = for_each_watched(writer, threads, batch.samples, add);
  if (status.ok() && !samples.empty()) status = writer.add(samples);
  if (status.ok()) status = write_libraries(writer, threads, clock, batch.libraries);
  return status.ok() ? write_native(writer, threads) : status;
}

Status StackRecording::write_libraries(TraceWriter& writer, ThreadWatch& threads,
                                       const ClockMap& clock,
                                       const std::vector<StackBatch::Library>& found) {
  std::vector<NativeSample> samples;
  const auto add = [&](WatchedThreadId thread, const StackBatch::Library& library) {
    const auto at = session_time(library.monotonic_ns - clock.monotonic_start_ns());
    samples.push_back({thread, at, writer.intern(library.path)});
  };
  const Status status = for_each_watched(writer, threads, found, add);
  if (!status.ok() || samples.empty()) return status;
  if (!std::exchange(period_written_, true)) {
    const std::string period = std::to_string(ProgramCounter::kPeriod.count());
    if (Status set = writer.set_meta(kNativePeriodMeta, period); !set.ok()) return set;
  }
  return writer.add(samples);
}

Status StackRecording::write_native(TraceWriter& writer, ThreadWatch& threads) {
  const NativeBatch batch = native_.found();
  if (Status status = write_frames(writer, batch.frames, native_rows_); !status.ok()) return status;
  std::vector<StackSample> samples;
  samples.reserve(batch.samples.size());
  const auto add = [&](WatchedThreadId thread, const NativeBatch::Sample& sample) {
    samples.push_back(
        {thread, sample.at, row_of(native_rows_, sample.frame), false, StringId::kNone});
  };
  const Status status = for_each_watched(writer, threads, batch.samples, add);
  return !status.ok() || samples.empty() ? status : writer.add(samples);
}

Status StackRecording::store(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock) {
  if (rate_ <= 0) return write_native(writer, threads);
  for (const ThreadWatch::Root& process : threads.processes()) {
    if (!sampler_.knows(process.pid)) sampler_.add_unrecorded(process.pid);
  }
  return write(writer, threads, clock);
}

Status StackRecording::finish(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock) {
  native_.name_all_held();
  Status status = rate_ > 0 ? write(writer, threads, clock) : write_native(writer, threads);
  if (!status.ok()) return status;
  if (native_.samples() > 0)
    status = writer.set_meta(kNativeStacksMeta, std::to_string(native_.samples()));
  if (!status.ok()) return status;
  status = rate_ > 0 ? store_sampling(writer) : writer.set_meta(kStackRateMeta, "0");
  return status.ok() ? store_note(writer) : status;
}

Status StackRecording::store_sampling(TraceWriter& writer) {
  const SamplerFacts facts = sampler_.facts();
  const std::pair<const char*, std::int64_t> numbers[] = {{kStackRateMeta, rate_},
                                                          {kStacksTornMeta, facts.torn},
                                                          {kStackCpuMeta, facts.cpu_ns},
                                                          {kStackLateP50Meta, facts.late_p50_ns},
                                                          {kStackLateP99Meta, facts.late_p99_ns}};
  for (const auto& [key, number] : numbers) {
    if (Status status = writer.set_meta(key, std::to_string(number)); !status.ok()) return status;
  }
  if (!facts.native_note.empty()) return writer.set_meta(kNativeNoteMeta, facts.native_note);
  return {};
}

Status StackRecording::store_note(TraceWriter& writer) {
  const SamplerFacts facts = sampler_.facts();
  if (!facts.notes.empty()) return writer.set_meta(kStackNoteMeta, facts.notes.front());
  return native_.lost() ? writer.set_meta(kStackNoteMeta, kNoSymbols) : Status();
}

}  // namespace stepscope
