// What the CUDA driver of this process says of its devices.
#pragma once

#include <string>
#include <vector>

#include "profiler/cupti/activity_records.h"

namespace stepscope {

struct CudaDevice {
  DeviceRecord record{};  // as CUPTI writes it, but for the address of the name
  std::string name;
};

// In the order of their numbers. Empty while the program has not initialised CUDA, which this does
// not do. CUPTI has a kind of record for this, but does not write it if CUDA was initialised before
// (seen on an H200, CUDA 13.0).
std::vector<CudaDevice> read_cuda_devices();

}  // namespace stepscope
