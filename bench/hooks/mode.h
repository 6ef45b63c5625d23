// A way of profiling a loop of ops, for comparison with others.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace stepscope::bench {

class Mode {
 public:
  virtual ~Mode() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  // Called before and after the timed ops; not timed themselves.
  virtual void start() = 0;
  virtual void stop() = 0;
};

// The PyTorch profiler (Kineto) on the CPU; nullptr if libtorch was built without it.
std::unique_ptr<Mode> kineto_mode();

}  // namespace stepscope::bench
