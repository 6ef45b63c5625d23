// Why the steps of a loop cannot be predicted.
#pragma once

#include <cstdint>

namespace stepscope {

enum class Withheld : std::uint8_t {
  kNothing,         // they can
  kTooManyStreams,  // of the device
  kTooManyTasks,    // in a step
  kNoSteps,
  kUnexplained,       // the recorded dependencies do not explain the step time
  kUnrepresentative,  // the steps that could be replayed are unlike the others
};

}  // namespace stepscope
