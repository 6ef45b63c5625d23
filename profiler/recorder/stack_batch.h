// Call stacks from a sampler, on their way to the store.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/ring/clock.h"

namespace stepscope {

// Frames and samples in the order they were found. Frames are numbered from 1 over all batches.
struct StackBatch {
  struct Frame {
    std::uint32_t caller = 0;  // 0: the outermost
    std::string function, file;
    int line = 0;  // 0: unknown
  };
  struct Sample {
    pid_t pid = 0;
    pid_t tid = 0;
    Ticks at{};
    std::uint32_t frame = 0;
    bool awaited = false;  // a loop was waiting for this thread's work
    std::string blocked;   // "": it was running
  };
  // A thread was running code of a native library.
  struct Library {
    pid_t pid = 0;
    pid_t tid = 0;
    std::int64_t monotonic_ns = 0;
    std::string path;
  };
  std::vector<Frame> frames;
  std::vector<Sample> samples;
  std::vector<Library> libraries;
};

struct SamplerFacts {
  std::int64_t samples = 0;
  std::int64_t torn = 0;         // stacks that changed while they were read
  std::int64_t cpu_ns = 0;       // the CPU time of sampling
  std::int64_t late_p50_ns = 0;  // how late the rounds were
  std::int64_t late_p99_ns = 0;
  std::vector<std::string> notes;  // why some process has no lines; each once
  std::string native_note;         // why native libraries are unknown; "": they are known
};

}  // namespace stepscope
