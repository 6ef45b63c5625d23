// Keeps pthread_cancel() away from a part of our code that runs on the program's threads. Many
// system calls are cancellation points: a thread that is to end would be unwound from within ours,
// with a descriptor open or a lock held, and through functions that must not throw.
#pragma once

#include <pthread.h>

namespace stepscope {

class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace stepscope
