// Preloaded into a program: its wall clock is AHEAD_S seconds ahead. Time namespaces have no wall clock.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  const char* ahead = getenv("AHEAD_S");
  if (result == 0 && clock == CLOCK_REALTIME && ahead != NULL) time->tv_sec += atol(ahead);
  return result;
}
