/* libstepscope as the Python side sees it: notes each call in the file STEPSCOPE_FAKE_LOG, a line each,
 * and checks that a phase ends once and on the thread that began it. Records nothing.
 *
 *   STEPSCOPE_FAKE_RECORDING   what is_recording() says; default 1
 *   STEPSCOPE_FAKE_TORCH       what torch_loaded() says; default 1
 *   STEPSCOPE_FAKE_RANGES      1: notes the calls of marks_python_ranges(), too
 *   STEPSCOPE_FAKE_ERROR       what start() and stop() say; default NULL
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
  uint64_t opaque[4]; /* thread, process, a number, open */
} Phase;

typedef struct {
  const char* output;
  int64_t first_step;
  int64_t last_step;
  int record_ops;
  int record_shapes;
  size_t ring_bytes;
} Options;

#define EXPORT __attribute__((visibility("default")))

static void note(const char* text) {
  const char* path = getenv("STEPSCOPE_FAKE_LOG");
  const int file = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (file < 0) return;
  char line[4096];
  const int length = snprintf(line, sizeof line, "%d %s\n", (int)getpid(), text);
  if (write(file, line, (size_t)length) != length) abort();
  close(file);
}

static int setting(const char* name, int otherwise) {
  const char* value = getenv(name);
  return value == NULL ? otherwise : atoi(value);
}

static Phase begin(const char* kind, const char* name, size_t length) {
  char text[2200];
  snprintf(text, sizeof text, "begin %s%s%.*s", kind, length > 0 ? " " : "", (int)length, name);
  note(text);
  const Phase phase = {{(uint64_t)syscall(SYS_gettid), (uint64_t)getpid(), 0x5ca1ab1e, 1}};
  return phase;
}

static void end(const char* kind, const Phase* phase) {
  char text[200];
  const int same_thread = phase->opaque[0] == (uint64_t)syscall(SYS_gettid);
  snprintf(text, sizeof text, "end %s%s%s", kind, phase->opaque[2] == 0x5ca1ab1e ? "" : " GARBLED",
           same_thread ? "" : " ON ANOTHER THREAD");
  note(text);
}

EXPORT int stepscope_is_recording(void) { return setting("STEPSCOPE_FAKE_RECORDING", 1); }
EXPORT void stepscope_step(void) { note("step"); }

EXPORT Phase stepscope_begin_scope(const char* name, size_t length) { return begin("scope", name, length); }
EXPORT void stepscope_end_scope(const Phase* phase) { end("scope", phase); }
EXPORT Phase stepscope_begin_input(const char* name, size_t length) { return begin("input", name, length); }
EXPORT void stepscope_end_input(const Phase* phase, int exhausted) {
  end(exhausted ? "input exhausted" : "input", phase);
}
EXPORT Phase stepscope_begin_optimizer(const char* name, size_t length) {
  return begin("optimizer", name, length);
}
EXPORT void stepscope_end_optimizer(const Phase* phase) { end("optimizer", phase); }
static _Thread_local const void* stepped[8];  // optimizers that have begun a step on this thread
EXPORT void stepscope_begin_optimizer_step(const void* optimizer, const char* name, size_t length) {
  begin("optimizer", name, length);
  for (int i = 0; i < 8; ++i) {
    if (stepped[i] != NULL && stepped[i] != optimizer) continue;
    stepped[i] = optimizer;
    return;
  }
}
EXPORT void stepscope_end_optimizer_step(const void* optimizer) {
  int i = 0;
  while (i < 8 && stepped[i] != optimizer) ++i;
  note(i < 8 ? "end optimizer" : "end optimizer ON ANOTHER THREAD");
  if (i < 8) stepped[i] = NULL;
}
EXPORT Phase stepscope_begin_backward(void) { return begin("backward", "", 0); }
EXPORT void stepscope_end_backward(const Phase* phase) { end("backward", phase); }
EXPORT Phase stepscope_begin_closure(void) { return begin("closure", "", 0); }
EXPORT void stepscope_end_closure(const Phase* phase) { end("closure", phase); }
EXPORT void stepscope_batch_comes_from(int64_t pid) { (void)pid; }
EXPORT int stepscope_records_modules(void) { return 0; }
EXPORT int stepscope_begin_module(const char* label, size_t length) {
  (void)label, (void)length;
  return -1;
}
EXPORT void stepscope_end_module(int call) { (void)call; }
EXPORT void stepscope_on_ops_change(void (*changed)(void)) { (void)changed; }
EXPORT Phase stepscope_begin_zero_grad(void) { return begin("zero_grad", "", 0); }
EXPORT void stepscope_end_zero_grad(const Phase* phase) { end("zero_grad", phase); }

EXPORT const char* stepscope_start(const Options* options) {
  char text[2200];
  snprintf(text, sizeof text, "start %s steps %lld-%lld ops %d shapes %d ring %zu", options->output,
           (long long)options->first_step, (long long)options->last_step, options->record_ops,
           options->record_shapes, options->ring_bytes);
  note(text);
  return getenv("STEPSCOPE_FAKE_ERROR");
}
EXPORT const char* stepscope_stop(void) {
  note("stop");
  return getenv("STEPSCOPE_FAKE_ERROR");
}
EXPORT void stepscope_marks_python_ranges(int marked) {
  if (setting("STEPSCOPE_FAKE_RANGES", 0)) note(marked ? "marks_python_ranges 1" : "marks_python_ranges 0");
}
#ifndef WITHOUT_TORCH_LOADED
EXPORT int stepscope_torch_loaded(void) {
  note("torch_loaded");
  return setting("STEPSCOPE_FAKE_TORCH", 1);
}
#endif
