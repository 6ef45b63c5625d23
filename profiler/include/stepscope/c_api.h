/* The C interface of Stepscope's profiler, the base of stepscope.h and of language bindings.
 *
 * No function here throws, waits for the recorder, or changes what the program computes. Any thread
 * may call them; a phase must be ended on the thread that began it. While nothing is recorded, each
 * call costs a few instructions.
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
  int64_t first_step; /* first step whose ops are recorded, counted from 1; 0: from the start */
  int64_t last_step;  /* last step whose ops are recorded; 0: to the end */
  int record_ops;     /* 0: phases only */
  int record_shapes;  /* 1: also the input shapes of each op (costs about 1 us per op) */
  size_t ring_bytes;  /* buffer per thread; 0: 2 MiB, which holds 65,536 events */
  double budget;      /* the largest share of the run's time that recording may cost, such as
                         0.02: ops are recorded in only as many steps as it allows; 0: in every
                         step. Ignored if a window is set (first_step, last_step) */
} stepscope_options;

/* Starts recording. Under `stepscope run`, which already records, this function and
 * stepscope_stop() do nothing. Returns NULL, or one line that says why nothing is recorded: for
 * example, another recording is running, or the path cannot be written. The text is valid until the
 * thread's next call. */
STEPSCOPE_API const char* stepscope_start(const stepscope_options* options);

/* Ends the recording, as exit() does too: drains every ring and closes the store. Returns NULL, or
 * one line that says what was lost. Without a recording it does nothing and returns NULL. */
STEPSCOPE_API const char* stepscope_stop(void);

STEPSCOPE_API int stepscope_is_recording(void);

/* For language bindings: call this after libtorch was loaded into the running process and its
 * constructors have run. Loads the matching op hooks. Returns 1 if this process is recorded, else
 * 0. */
STEPSCOPE_API int stepscope_torch_loaded(void);

/* For language bindings: call with 1 once the binding marks optimizer steps, zero_grad and loaders
 * itself, and with 0 when it no longer does. Calls count, so each 1 needs its own 0. Meanwhile the
 * op hooks leave the ranges that PyTorch opens around these alone: to watch for them slows down
 * every node of a backward pass. */
STEPSCOPE_API void stepscope_marks_python_ranges(int marked);

/* Ends the current step of the calling loop. */
STEPSCOPE_API void stepscope_step(void);

/* An open phase or scope of the calling thread; opaque. */
typedef struct stepscope_phase {
  uint64_t opaque[4];
} stepscope_phase;

/* A named scope, such as "checkpoint" or "evaluation". Names are UTF-8, cut after 2,000 bytes. */
STEPSCOPE_API stepscope_phase stepscope_begin_scope(const char* name, size_t length);
STEPSCOPE_API void stepscope_end_scope(const stepscope_phase* phase);

/* A wait for the next batch; `name` is the loader's. `exhausted` is 1 if no batch came because the
 * loader ended, else 0. */
STEPSCOPE_API stepscope_phase stepscope_begin_input(const char* name, size_t length);
STEPSCOPE_API void stepscope_end_input(const stepscope_phase* phase, int exhausted);

/* Names the worker process that makes the next batch, so that the recorder watches it more closely.
 * Forgotten when the wait ends. */
STEPSCOPE_API void stepscope_batch_comes_from(int64_t pid);

/* For language bindings: an optimizer step, where `name` is the optimizer's (torch::optim needs no
 * marks); and a backward pass, in a process that loaded libstepscope too late for it to see the
 * backward passes of libtorch. A backward pass inside another counts once. */
STEPSCOPE_API stepscope_phase stepscope_begin_optimizer(const char* name, size_t length);
STEPSCOPE_API void stepscope_end_optimizer(const stepscope_phase* phase);
/* The same by the optimizer, which is only compared. If its last step on this thread raised, so
 * that nothing has ended it, that step ends now and is not an optimizer step. */
STEPSCOPE_API void stepscope_begin_optimizer_step(const void* optimizer, const char* name,
                                                  size_t length);
STEPSCOPE_API void stepscope_end_optimizer_step(const void* optimizer);
STEPSCOPE_API stepscope_phase stepscope_begin_backward(void);
STEPSCOPE_API void stepscope_end_backward(const stepscope_phase* phase);

/* For language bindings: a call of the closure that was passed to an optimizer step, whose forward
 * and backward pass are not the optimizer's work; and the clearing of gradients. */
STEPSCOPE_API stepscope_phase stepscope_begin_closure(void);
STEPSCOPE_API void stepscope_end_closure(const stepscope_phase* phase);
STEPSCOPE_API stepscope_phase stepscope_begin_zero_grad(void);
STEPSCOPE_API void stepscope_end_zero_grad(const stepscope_phase* phase);

/* For language bindings: calls of a model's modules, in steps whose ops are recorded. `label` holds
 * three lines: the class of the root module, the name of the called module, and its class.
 * stepscope_begin_module() returns the argument for stepscope_end_module(), or -1 while modules are
 * not recorded. `changed` is called whenever the recording of modules begins or ends. It may run on
 * any thread, and runs under a lock: it may do no more than set a flag. */
STEPSCOPE_API int stepscope_records_modules(void);
STEPSCOPE_API int stepscope_begin_module(const char* label, size_t length);
STEPSCOPE_API void stepscope_end_module(int call);
STEPSCOPE_API void stepscope_on_ops_change(void (*changed)(void));

/* For Python: returns one of the functions above as a callable of the CPython in this process, as a
 * new reference; NULL without CPython, or for an unknown name. The names:
 *   "begin_scope", "begin_input", "begin_optimizer", "begin_backward", "begin_closure": take the
 *   name as bytes (the last two ignore it), return a phase as bytes;
 *   "end_scope", "end_input", "end_optimizer", "end_backward", "end_closure": take that phase;
 *   "end_of_input" takes it too, for a wait that found the loader exhausted;
 *   "in_zero_grad": takes a callable, a tuple and a dict, and returns or raises what the call does;
 *   "begin_optimizer_step": takes the optimizer, and its name as a str; "end_optimizer_step": takes
 *   the optimizer;
 *   "before_optimizer_step", "after_optimizer_step": hooks for torch.optim, which take the
 * optimizer, a tuple and a dict; for steps with arguments, the first returns what the callable
 * passed to "on_closure" returns for them; "batch_comes_from": takes the process id as an int, at
 * least 0; "begin_module": takes a label (see stepscope_begin_module()) as bytes, returns an int
 * for "end_module", or None while modules are not recorded; "watch_ops": takes a function, which is
 * called with 1 when the recording of modules begins and with 0 when it ends. Hold the interpreter
 * lock (GIL) when calling this function or one that it returned. */
STEPSCOPE_API void* stepscope_python_function(const char* name);

#ifdef __cplusplus
}
#endif
