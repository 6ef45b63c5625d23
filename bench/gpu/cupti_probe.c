// A client of CUPTI for cupti_cost.py: enables what it is told to, with the clock and the buffers
// that Stepscope has, frees each buffer as soon as it is delivered, and counts. One at a time.
#include <cupti.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { kMostBuffers = 128, kMostFunctions = 2000 };

static uint8_t data[32 << 20] __attribute__((aligned(64)));
static atomic_int given[kMostBuffers];
static int buffers;
static size_t buffer_bytes;
static atomic_long delivered, delivered_bytes, held, most_held;
static atomic_long dropped;

static uint64_t ticks(void) { return __rdtsc(); }

static void request(uint8_t **buffer, size_t *bytes, size_t *records) {
  *buffer = NULL;
  *bytes = *records = 0;
  for (int i = 0; i < buffers; ++i) {
    int is_given = 0;
    if (!atomic_compare_exchange_strong(&given[i], &is_given, 1)) continue;
    *buffer = data + (size_t)i * buffer_bytes;
    *bytes = buffer_bytes;
    const long now = ++held;
    if (now > most_held) most_held = now;
    return;
  }
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid) {
  (void)bytes;
  ++delivered;
  delivered_bytes += (long)valid;
  size_t lost = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS) dropped += (long)lost;
  memset(buffer, 0, valid);
  --held;
  given[(size_t)(buffer - data) / buffer_bytes] = 0;
}

static void no_callback(void *a, CUpti_CallbackDomain b, CUpti_CallbackId c, const void *d) {
  (void)a, (void)b, (void)c, (void)d;
}

static const CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,   CUPTI_ACTIVITY_KIND_OVERHEAD,
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER};
enum { kKindCount = sizeof(kKinds) / sizeof(kKinds[0]) };

// The same as is_query_call() of profiler/cupti/query_calls.cc.
static int is_query(const char *name) {
  static const char *const kParts[] = {"Get",         "PeekAtLastError",  "Occupancy",     "DeviceTotalMem",
                                       "IsCapturing", "FuncSetAttribute", "cudaSetDevice_"};
  if (strstr(name, "MemGetInfo")) return 0;
  for (size_t i = 0; i < sizeof(kParts) / sizeof(kParts[0]); ++i) {
    if (strstr(name, kParts[i])) return 1;
  }
  return 0;
}

int probe_init(void) {
  CUpti_SubscriberHandle subscriber;
  CUptiResult result = cuptiSubscribe(&subscriber, no_callback, NULL);
  if (result == CUPTI_SUCCESS) result = cuptiActivityRegisterTimestampCallback(ticks);
  if (result == CUPTI_SUCCESS) result = cuptiActivityRegisterCallbacks(request, complete);
  return (int)result;
}

void probe_begin(int with_calls, int without_queries, uint32_t period_ms, int count, int kib) {
  buffers = count;
  buffer_bytes = (size_t)kib << 10;
  delivered = delivered_bytes = held = most_held = dropped = 0;
  for (int i = 0; i < kKindCount; ++i) {
    const int is_call = kKinds[i] == CUPTI_ACTIVITY_KIND_RUNTIME || kKinds[i] == CUPTI_ACTIVITY_KIND_DRIVER;
    if (with_calls || !is_call) cuptiActivityEnable(kKinds[i]);
  }
  for (uint32_t i = 1; without_queries && i < kMostFunctions; ++i) {
    const char *name = NULL;
    if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, i, &name) == 0 && name && is_query(name))
      cuptiActivityEnableRuntimeApi(i, 0);
    if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, i, &name) == 0 && name && is_query(name))
      cuptiActivityEnableDriverApi(i, 0);
  }
  cuptiActivityFlushPeriod(period_ms);
}

void probe_disable(void) {
  for (int i = 0; i < kKindCount; ++i) cuptiActivityDisable(kKinds[i]);
}

// Buffers delivered, bytes, buffers held at once, records dropped; the first two before the flush.
void probe_end(long counts[4]) {
  probe_disable();
  counts[0] = delivered;
  counts[1] = delivered_bytes;
  cuptiActivityFlushAll(1);
  counts[2] = most_held;
  counts[3] = dropped;
}

void probe_flush(void) { cuptiActivityFlushAll(0); }
