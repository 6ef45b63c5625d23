// Keeps the program's signals away from the recorder's threads.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace stepscope {

// Blocks all signals of the calling thread during this object's life. Threads started meanwhile
// inherit the mask.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace stepscope
