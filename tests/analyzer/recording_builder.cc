#include "tests/analyzer/recording_builder.h"

#include <algorithm>
#include <string_view>

namespace stepscope::testing {

RecordingBuilder::RecordingBuilder() { strings_.emplace_back(); }

StringId RecordingBuilder::intern(const std::string& text) {
  const auto it = std::find(strings_.begin(), strings_.end(), text);
  const auto index = static_cast<std::uint32_t>(it - strings_.begin());
  if (it == strings_.end()) strings_.push_back(text);
  return static_cast<StringId>(index);
}

ThreadId RecordingBuilder::thread(const std::string& name, std::int64_t process) {
  for (const StoredThread& known : threads_) {
    if (known.name == name) return known.id;
  }
  this->process(process);
  StoredThread thread;
  thread.id = static_cast<ThreadId>(threads_.size() + 1);
  thread.process = static_cast<ProcessId>(process);
  thread.tid = static_cast<std::int64_t>(threads_.size()) + 100;
  thread.name = name;
  threads_.push_back(thread);
  return thread.id;
}

ProcessId RecordingBuilder::process(std::int64_t id, std::int64_t rank, std::int64_t parent) {
  for (StoredProcess& known : processes_) {
    if (known.pid != 41 + id) continue;
    if (rank >= 0) known.rank = rank;
    return known.id;
  }
  StoredProcess process;
  process.id = static_cast<ProcessId>(id);
  process.pid = 41 + id;
  process.name = "train";
  process.rank = rank;
  process.parent_pid = parent > 0 ? 41 + parent : 0;
  processes_.push_back(process);
  return process.id;
}

DeviceId RecordingBuilder::device(std::int64_t number, std::int64_t process) {
  const ProcessId owner = this->process(process);
  for (const StoredDevice& known : devices_) {
    if (known.number == number && known.process == owner) return known.id;
  }
  StoredDevice device;
  device.id = static_cast<DeviceId>(devices_.size() + 1);
  device.process = owner;
  device.number = number;
  device.name = "GPU";
  devices_.push_back(device);
  return device.id;
}

StreamId RecordingBuilder::stream(std::int64_t number, std::int64_t device, std::int64_t process) {
  const DeviceId owner = this->device(device, process);
  for (const StoredStream& known : streams_) {
    if (known.number == number && known.device == owner) return known.id;
  }
  streams_.push_back({{owner, 1, number}, static_cast<StreamId>(streams_.size() + 1)});
  return streams_.back().id;
}

void RecordingBuilder::call(ThreadId thread, const std::string& name, std::int64_t start,
                            std::int64_t end, std::int64_t correlation) {
  calls.push_back({thread, intern(name), session_time(start), Duration(end - start), correlation});
}

void RecordingBuilder::kernel(StreamId stream, const std::string& name, std::int64_t start,
                              std::int64_t end, std::int64_t correlation) {
  Kernel kernel;
  kernel.stream = stream;
  kernel.name = intern(name);
  kernel.start = session_time(start);
  kernel.dur = Duration(end - start);
  kernel.correlation = correlation;
  kernels.push_back(kernel);
}

void RecordingBuilder::phase(ThreadId thread, PhaseKind kind, std::int64_t start, std::int64_t end,
                             std::int64_t cpu, const std::string& name) {
  phases_.push_back(
      {thread, kind, intern(name), session_time(start), Duration(end - start), Duration(cpu)});
}

void RecordingBuilder::op(ThreadId thread, const std::string& name, std::int64_t start,
                          std::int64_t end, OpScope scope, PhaseKind in) {
  Op op;
  op.thread = thread;
  op.name = intern(name);
  op.start = session_time(start);
  op.dur = Duration(end - start);
  op.scope = scope;
  op.phase = in;
  ops_.push_back(op);
}

FrameId RecordingBuilder::frame(FrameId caller, const std::string& file, std::int64_t line,
                                const std::string& function) {
  frames.push_back({caller, intern(function), intern(file), line});
  return static_cast<FrameId>(frames.size());
}

RecordedRun RecordingBuilder::recording() {
  std::stable_sort(phases_.begin(), phases_.end(), [](const Phase& a, const Phase& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    return a.start != b.start ? a.start < b.start : a.dur > b.dur;
  });
  // Children before parents also where they end together: those that start later come first.
  std::stable_sort(ops_.begin(), ops_.end(), [](const Op& a, const Op& b) {
    if (a.start + a.dur != b.start + b.dur) return a.start + a.dur < b.start + b.dur;
    return a.start > b.start;
  });
  RecordedRun recording;
  recording.facts = facts;
  recording.threads = threads_;
  process(1);
  recording.processes = processes_;
  recording.phases = phases_;
  recording.losses = losses;
  recording.ends = ends;
  recording.unfinished = unfinished;
  recording.for_each_sample = [this](const RecordedRun::SampleVisitor& visit) {
    for (const Sample& sample : samples) {
      if (!visit(sample)) break;
    }
    return Status();
  };
  recording.op_count = static_cast<std::int64_t>(ops_.size());
  recording.for_each_op = [this](const RecordedRun::OpVisitor& visit) {
    for (const Op& op : ops_) {
      if (!visit(op)) break;
    }
    return Status();
  };
  recording.devices = devices_;
  recording.streams = streams_;
  const auto source = [](const auto& events) {
    return [&events](const auto& visit) {
      for (const auto& event : events) visit(event);
      return Status();
    };
  };
  recording.watched_threads = watched;
  recording.for_each_stretch = source(stretches);
  recording.for_each_thread_reading = source(readings);
  recording.frames = frames;
  recording.for_each_stack_sample = source(stack_samples);
  recording.for_each_native_sample = source(native_samples);
  recording.for_each_api_call = source(calls);
  recording.for_each_kernel = source(kernels);
  recording.for_each_copy = source(copies);
  recording.for_each_memset = source(memsets);
  recording.text = [this](StringId id) -> std::string_view {
    return strings_[static_cast<std::size_t>(id)];
  };
  take_lengths(recording);
  take_modes(recording);
  take_op_switches(recording);
  take_lost_times(recording);
  return recording;
}

}  // namespace stepscope::testing
