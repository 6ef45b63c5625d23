#include <torch/csrc/autograd/profiler_kineto.h>

#include <set>

#include "bench/hooks/mode.h"

namespace stepscope::bench {
namespace {

namespace profiler = torch::autograd::profiler;

class KinetoMode final : public Mode {
 public:
  std::string name() const override { return "pytorch_profiler"; }
  void start() override {
    const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
    const std::set<profiler::ActivityType> activities{profiler::ActivityType::CPU};
    profiler::prepareProfiler(config, activities);
    profiler::enableProfiler(config, activities);
  }
  void stop() override { profiler::disableProfiler(); }
};

}  // namespace

std::unique_ptr<Mode> kineto_mode() {
  auto mode = std::make_unique<KinetoMode>();
  try {
    mode->start();
    mode->stop();
  } catch (const std::exception&) {  // "Kineto not supported in this build"
    return nullptr;
  }
  return mode;
}

}  // namespace stepscope::bench
