// The stack samples of a recording.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "analyzer/lines/own_code.h"
#include "analyzer/recording.h"
#include "store/status.h"

namespace stepscope {

// Held in memory; the samples of a thread are by time.
class StackHistory {
 public:
  // For a longer recording, every second sample is kept, or every fourth, …
  static constexpr std::size_t kMaxSamples = 4'000'000;

  // `recording` outlives it. Fails only when reading the store fails.
  static Result<StackHistory> read(const RecordedRun& recording);

  [[nodiscard]] bool empty() const { return samples_.empty(); }
  [[nodiscard]] const OwnCode& code() const { return *code_; }
  [[nodiscard]] const std::map<WatchedThreadId, std::vector<StackSample>>& samples() const {
    return samples_;
  }

 private:
  std::map<WatchedThreadId, std::vector<StackSample>> samples_;
  std::unique_ptr<OwnCode> code_;
};

}  // namespace stepscope
