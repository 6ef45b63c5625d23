#include "profiler/recorder/gpu_sampler.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace stepscope {

struct GpuSampler::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;  // guarded by mutex, like all that follows
  bool ended = false;
  std::vector<GpuSample> samples;
};

GpuSampler::GpuSampler(std::string library, std::chrono::nanoseconds period)
    : shared_(std::make_shared<Shared>()) {
  try {
    std::thread([shared = shared_, library = std::move(library), period] {
      run(shared, library, period);
    }).detach();
  } catch (const std::system_error&) {  // no thread, no readings
    shared_->ended = true;
  }
}

GpuSampler::~GpuSampler() {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPatience, [this] { return shared_->ended; });
}

std::vector<GpuSample> GpuSampler::take() {
  const std::scoped_lock lock(shared_->mutex);
  return std::exchange(shared_->samples, {});
}

void GpuSampler::run(const std::shared_ptr<Shared>& shared, const std::string& library,
                     std::chrono::nanoseconds period) {
  std::unique_ptr<Nvml> nvml = Nvml::open(library.c_str());
  const std::uint32_t gpus = nvml == nullptr ? 0 : nvml->gpu_count();
  std::unique_lock lock(shared->mutex);
  while (gpus > 0 && !shared->stopping) {
    lock.unlock();  // the driver may be slow
    std::vector<GpuSample> samples;
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
      samples.push_back({gpu, read_ticks(), nvml->read(gpu)});
    lock.lock();
    if (shared->samples.size() + samples.size() > kMaxKept) shared->samples.clear();
    shared->samples.insert(shared->samples.end(), samples.begin(), samples.end());
    shared->changed.wait_for(lock, period, [&shared] { return shared->stopping; });
  }
  lock.unlock();
  nvml.reset();
  lock.lock();
  shared->ended = true;
  shared->changed.notify_all();
}

}  // namespace stepscope
