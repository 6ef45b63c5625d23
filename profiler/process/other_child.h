// A child of this process besides the wrapped program: git, which the recorder asks for the state
// of the sources. Whoever reaps adopted processes leaves it to its owner.
#pragma once

#include <sys/types.h>

#include <atomic>

namespace stepscope {

inline std::atomic<pid_t> other_child{-1};  // -1: none

}  // namespace stepscope
