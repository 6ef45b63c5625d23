// The latest metrics, handed from the thread that computes them to those that send them.
#pragma once

#include <memory>
#include <utility>

#include "metrics/metric_family.h"
#include "store/mutex.h"

namespace stepscope {

// Thread safety: all methods may be called from several threads.
class LatestMetrics {
 public:
  void set(Metrics metrics) {
    auto shared = std::make_shared<const Metrics>(std::move(metrics));
    const MutexLock lock(mutex_);
    latest_.swap(shared);
  }
  // Never null.
  [[nodiscard]] std::shared_ptr<const Metrics> get() const {
    const MutexLock lock(mutex_);
    return latest_;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const Metrics> latest_ STEPSCOPE_GUARDED_BY(mutex_) =
      std::make_shared<const Metrics>();
};

}  // namespace stepscope
