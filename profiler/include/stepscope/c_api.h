/* The C interface of Stepscope's profiler: what stepscope.h and other languages' bindings stand on.
 *
 * No function here throws, blocks on the recorder, or changes what the program computes. All may be
 * called from any thread; a phase is ended on the thread that began it. When nothing records, each
 * is a few instructions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define STEPSCOPE_API __attribute__((visibility("default")))
#else
#define STEPSCOPE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stepscope_options {
  const char* output; /* path of the store; an earlier store there is kept as PATH.old */
  int64_t first_step; /* ops are recorded from this step on (1-based); 0: from the start */
  int64_t last_step;  /* … through this step; 0: to the end */
  int record_ops;     /* 0: phases only */
  int record_shapes;  /* 1: the shapes of each op's inputs (costs about 1 us an op) */
  size_t ring_bytes;  /* buffer per thread; 0: 2 MiB, which holds 65,536 events */
  double budget;      /* the share of the run's time that recording ops may cost, such as 0.02: ops
                         are recorded in some steps only; 0: in every step. A window has no budget */
} stepscope_options;

/* Starts recording. Under `stepscope run` the wrapper records already, and this and
 * stepscope_stop() leave it to do so. Returns NULL, or one line that says why nothing is recorded:
 * a recording is running already, the path cannot be written. The text is valid until the thread's
 * next call. */
STEPSCOPE_API const char* stepscope_start(const stepscope_options* options);

/* Ends the recording: drains every ring, closes the store. Returns NULL or one line that says what
 * was lost. Without a recording it does nothing and returns NULL. */
STEPSCOPE_API const char* stepscope_stop(void);

STEPSCOPE_API int stepscope_is_recording(void);

/* For language bindings: libtorch has come into the process after its start, and its constructors
 * have run. Loads the op hooks for it. Returns 1 while this process is recorded, plus 2 when the
 * ranges that PyTorch opens in Python are seen: optimizers need no further help. */
STEPSCOPE_API int stepscope_torch_loaded(void);

/* The step of the calling loop ends here. */
STEPSCOPE_API void stepscope_step(void);

/* A stretch of the calling thread that has been begun; opaque. */
typedef struct stepscope_phase {
  uint64_t opaque[4];
} stepscope_phase;

/* A named stretch: "checkpoint", "evaluation". Names are UTF-8, cut after 2,000 bytes. */
STEPSCOPE_API stepscope_phase stepscope_begin_scope(const char* name, size_t length);
STEPSCOPE_API void stepscope_end_scope(const stepscope_phase* phase);

/* A wait for the next batch; `name` says which loader. `exhausted`: no batch came, the loader
 * ended. */
STEPSCOPE_API stepscope_phase stepscope_begin_input(const char* name, size_t length);
STEPSCOPE_API void stepscope_end_input(const stepscope_phase* phase, int exhausted);

/* The batch that is waited for next is made by the process `pid`, a worker: the recorder then looks
 * more closely at what that does. Forgotten when the wait ends. */
STEPSCOPE_API void stepscope_batch_comes_from(int64_t pid);

/* For bindings to other languages. An optimizer step that is not torch::optim's, which are seen
 * without; `name` says which optimizer. And a backward pass, where libstepscope came into the
 * process too late to see those of libtorch; one inside another counts once. */
STEPSCOPE_API stepscope_phase stepscope_begin_optimizer(const char* name, size_t length);
STEPSCOPE_API void stepscope_end_optimizer(const stepscope_phase* phase);
STEPSCOPE_API stepscope_phase stepscope_begin_backward(void);
STEPSCOPE_API void stepscope_end_backward(const stepscope_phase* phase);

/* Two more. A call of the closure that was given to an optimizer step: the forward and backward
 * pass in it are not the optimizer's work. And the clearing of gradients. */
STEPSCOPE_API stepscope_phase stepscope_begin_closure(void);
STEPSCOPE_API void stepscope_end_closure(const stepscope_phase* phase);
STEPSCOPE_API stepscope_phase stepscope_begin_zero_grad(void);
STEPSCOPE_API void stepscope_end_zero_grad(const stepscope_phase* phase);

/* For language bindings: calls of the modules of a model, in steps whose ops are recorded. `label`:
 * the class of the root, the name and the class of the module, a line each. Returns what ends the
 * call; -1: none are recorded now. `changed` is called when that begins or ends, on any thread,
 * under a lock: it may only note it. */
STEPSCOPE_API int stepscope_records_modules(void);
STEPSCOPE_API int stepscope_begin_module(const char* label, size_t length);
STEPSCOPE_API void stepscope_end_module(int call);
STEPSCOPE_API void stepscope_on_ops_change(void (*changed)(void));

/* For Python: one of the functions above as a callable of the CPython in this process, a new
 * reference; NULL where there is none, or none of that name. "begin_scope", "begin_input",
 * "begin_optimizer", "begin_backward", "begin_closure" and "begin_zero_grad" take the name as bytes
 * (the last three ignore it) and return a phase as bytes; "end_scope", "end_input",
 * "end_optimizer", "end_backward", "end_closure" and "end_zero_grad" take that, and so does
 * "end_of_input", for a wait that found the loader exhausted. "batch_comes_from" takes the process
 * as an int, at least 0. Modules have these alone: "begin_module" takes the class of the root, the
 * name and the class of the module, as lines of bytes, and returns an int for "end_module", or None
 * while no ops are recorded; "watch_ops" takes a function that is called with 1 and 0 when that
 * begins and ends. This, like them, is called with the interpreter's lock held. */
STEPSCOPE_API void* stepscope_python_function(const char* name);

#ifdef __cplusplus
}
#endif
