// The phases of the interposed calls that a thread is in: what an exception that leaves them ends.
// Not in thread-local memory, of which a library that is loaded late gets little.
#pragma once

#include <array>
#include <cstddef>

namespace stepscope {

// Thread safety: none; one per thread.
template <typename Phase>
class CallPhases {
 public:
  // Three are usual: a backward pass in the closure of an optimizer step. More are left over when
  // the program leaves calls with longjmp().
  static constexpr std::size_t kMost = 8;

  // If there is no room, forgets the earlier ones: their calls no longer end a phase.
  void push(const Phase& phase) {
    if (count_ == kMost) count_ = 0;
    phases_[count_++] = phase;
  }
  // The one pushed last; a default Phase if there is none.
  Phase pop() { return count_ == 0 ? Phase() : phases_[--count_]; }

 private:
  std::size_t count_ = 0;  // first: in the same cache line as the outermost phases
  std::array<Phase, kMost> phases_;
};

}  // namespace stepscope
