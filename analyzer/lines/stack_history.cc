#include "analyzer/lines/stack_history.h"

namespace stepscope {

Result<StackHistory> StackHistory::read(const RecordedRun& recording) {
  StackHistory history;
  history.code_ = std::make_unique<OwnCode>(recording.frames, recording.text);
  if (!recording.for_each_stack_sample) return history;
  std::size_t held = 0, stride = 1, number = 0;
  const Status status = recording.for_each_stack_sample([&](const StackSample& sample) {
    if (number++ % stride != 0) return;
    history.samples_[sample.thread].push_back(sample);
    if (++held < kMaxSamples) return;
    held = 0;
    stride *= 2;
    for (auto& [thread, samples] : history.samples_) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < samples.size(); i += 2) samples[kept++] = samples[i];
      samples.resize(kept);
      held += kept;
    }
  });
  if (!status.ok()) return status;
  return history;
}

}  // namespace stepscope
