-- The schema of a Stepscope store, version 5. docs/schema.md describes it.
--
-- Times are integer nanoseconds since the start of the session (`_ns`); meta 'wall_start_unix_ns'
-- has the wall clock of that moment. `name_id` and `shapes_id` refer to string, `thread_id` to
-- thread. An absent value is NULL. There is no secondary index, because a recorder only appends.

-- What was recorded. --------------------------------------------------------------------------

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE string (
  id   INTEGER PRIMARY KEY,  -- 1, 2, 3, … without gaps
  text TEXT NOT NULL         -- valid UTF-8, no U+0000; each text once
) STRICT;

CREATE TABLE process (
  id         INTEGER PRIMARY KEY,
  pid        INTEGER NOT NULL,
  name       TEXT NOT NULL,  -- as ps shows it
  command    TEXT NOT NULL,  -- its arguments, joined by spaces
  parent_pid INTEGER,        -- NULL: unknown
  rank       INTEGER         -- of a distributed run; NULL: none
) STRICT;

CREATE TABLE thread (
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process,
  tid        INTEGER NOT NULL,  -- the system's id
  torch_id   INTEGER,           -- libtorch's id; op.forward_thread refers to it
  name       TEXT NOT NULL      -- may be empty
) STRICT;

-- The names of op.phase, phase.kind and step_time.phase.
CREATE TABLE phase_kind (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;
INSERT INTO phase_kind VALUES
  (0, 'none'), (1, 'input'), (2, 'forward'), (3, 'backward'), (4, 'optimizer'), (5, 'zero_grad'),
  (6, 'scope'), (7, 'step'), (8, 'input_end'), (9, 'sampler'), (10, 'ops_begin'),
  (11, 'ops_end'), (12, 'lost');

-- The names of op.scope: libtorch's at::RecordScope.
CREATE TABLE op_scope (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;
INSERT INTO op_scope VALUES
  (0, 'function'), (1, 'backward_function'), (2, 'torchscript_function'),
  (3, 'kernel_function_dtype'), (4, 'custom_class'), (5, 'build_feature'), (6, 'lite_interpreter'),
  (7, 'user'), (8, 'static_runtime_op'), (9, 'static_runtime_model');

-- One row for each finished op. Ops of one thread are in the order of their ends: children before
-- parents. Only columns that mention NULL can be NULL; NOT NULL is left out because checking it
-- costs 5 % of the bulk path, which never writes NULL elsewhere. id is last to make that path
-- faster (op_batch.h).
CREATE TABLE op (
  thread_id      INTEGER REFERENCES thread,
  name_id        INTEGER REFERENCES string,  -- NULL: no name
  start_ns       INTEGER,
  dur_ns         INTEGER,
  self_ns        INTEGER,  -- outside any child op; NULL: dur_ns, because the op has none
  scope          INTEGER,  -- op_scope.id
  phase          INTEGER,  -- phase_kind.id: the phase that the thread was in
  depth          INTEGER,  -- open ops around this one
  sequence       INTEGER,  -- autograd sequence number of its thread; NULL: none
  forward_thread INTEGER,  -- of a backward node: thread.torch_id of its forward op; else NULL
  id             INTEGER PRIMARY KEY
) STRICT;

-- Separate from op, so that ops without shapes, the usual case, cost nothing.
CREATE TABLE op_shapes (
  op_id     INTEGER PRIMARY KEY REFERENCES op,
  shapes_id INTEGER NOT NULL REFERENCES string  -- '[[64,784],[128]]'
) STRICT;

-- A marked stretch of a thread: an input wait, the forward pass, a user's scope, …
CREATE TABLE phase (
  id        INTEGER PRIMARY KEY,
  thread_id INTEGER NOT NULL REFERENCES thread,
  kind      INTEGER NOT NULL REFERENCES phase_kind,
  name_id   INTEGER REFERENCES string,  -- of the scope, the loader or the optimizer
  start_ns  INTEGER NOT NULL,
  dur_ns    INTEGER NOT NULL,
  cpu_ns    INTEGER NOT NULL            -- CPU time of the thread meanwhile
) STRICT;

-- Events that happened but are not in this store.
CREATE TABLE loss (
  thread_id INTEGER REFERENCES thread,  -- NULL: of the whole process
  kind      TEXT NOT NULL,
  count     INTEGER NOT NULL
) STRICT;

-- How a process ended. A process without a row was still running when the recording ended.
CREATE TABLE process_end (
  process_id    INTEGER PRIMARY KEY REFERENCES process,
  how           TEXT NOT NULL,     -- exit; signal (it was killed); replaced (by exec)
  code          INTEGER,           -- exit code or signal; NULL: not known
  at_ns         INTEGER NOT NULL,
  step          INTEGER,           -- the step its loop was in; NULL: none was seen
  out_of_memory INTEGER NOT NULL   -- 1: the kernel killed it because memory ran out
) STRICT;

-- Ops that were still open when their process died.
CREATE TABLE unfinished_op (
  id        INTEGER PRIMARY KEY,
  thread_id INTEGER NOT NULL REFERENCES thread,
  name_id   INTEGER REFERENCES string,
  start_ns  INTEGER NOT NULL,
  phase     INTEGER NOT NULL REFERENCES phase_kind,
  depth     INTEGER NOT NULL  -- as in op
) STRICT;

-- Readings of counters, about ten a second. docs/schema.md lists their names and units.
CREATE TABLE sample (
  process_id INTEGER REFERENCES process,          -- NULL: of the machine
  name_id    INTEGER NOT NULL REFERENCES string,  -- 'rss_bytes'
  at_ns      INTEGER NOT NULL,
  value      INTEGER NOT NULL,
  gpu        INTEGER  -- in a reading of a process: device.number; of the machine: the driver's
                      -- number; NULL: no GPU
) STRICT;

-- How long a marked thread ran, and how long it was ready but had no core, from one mark to the
-- next. For the rest of dur_ns it was blocked. There is a row only if the thread was off its core:
-- between two marks without a row, it ran for all but at most 0.1 ms.
CREATE TABLE thread_stretch (
  id         INTEGER PRIMARY KEY,
  thread_id  INTEGER NOT NULL REFERENCES thread,
  start_ns   INTEGER NOT NULL,
  dur_ns     INTEGER NOT NULL,
  run_ns     INTEGER NOT NULL,
  starved_ns INTEGER NOT NULL
) STRICT;

-- The threads whose scheduling was sampled: those of the recorded processes and of their workers,
-- including threads that record nothing themselves.
CREATE TABLE watched_thread (
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process,  -- its process, or the one that started it
  pid        INTEGER NOT NULL,  -- differs from process.pid for a worker that is not recorded
  tid        INTEGER NOT NULL,
  name       TEXT NOT NULL
) STRICT;

-- Readings of the scheduling of watched threads, about ten per second; none while a thread does
-- nothing.
CREATE TABLE thread_reading (
  id                INTEGER PRIMARY KEY,
  watched_thread_id INTEGER NOT NULL REFERENCES watched_thread,
  at_ns             INTEGER NOT NULL,
  run_ns            INTEGER NOT NULL,  -- run time since it began
  starved_ns        INTEGER NOT NULL,  -- time since it began that it was ready but had no core
  cores             INTEGER            -- cores that it may run on; NULL: unknown
) STRICT;

-- The frames of call stacks, as a tree. Each is a line that was running, called from `caller_id`.
CREATE TABLE frame (
  id          INTEGER PRIMARY KEY,             -- callers before what they call
  caller_id   INTEGER REFERENCES frame,        -- NULL: the outermost
  function_id INTEGER NOT NULL REFERENCES string,  -- 'Images.__getitem__'
  file_id     INTEGER NOT NULL REFERENCES string,
  line        INTEGER                          -- NULL: unknown
) STRICT;

-- What a thread was doing at one moment. Threads are sampled at random times, and more often while
-- a loop waits for them. So sample counts show shares within one thread and phase; do not add them
-- up over several.
CREATE TABLE stack_sample (
  id                INTEGER PRIMARY KEY,
  watched_thread_id INTEGER NOT NULL REFERENCES watched_thread,
  at_ns             INTEGER NOT NULL,
  frame_id          INTEGER NOT NULL REFERENCES frame,  -- the innermost
  awaited           INTEGER NOT NULL,  -- 1: a loop was waiting for a batch from this process
  blocked_id        INTEGER REFERENCES string  -- 'read /data/train.bin'; NULL: running or ready
) STRICT;

-- A running thread was in code of a native library other than the interpreter's and PyTorch's. Each
-- row stands for the same CPU time of its thread: meta 'native_period_ns'.
CREATE TABLE native_sample (
  id                INTEGER PRIMARY KEY,
  watched_thread_id INTEGER NOT NULL REFERENCES watched_thread,
  at_ns             INTEGER NOT NULL,
  library_id        INTEGER NOT NULL REFERENCES string  -- '/venv/lib/…/numpy.libs/libopenblas.so'
) STRICT;

-- Calls of modules (torch.nn.Module) in a Python program, in the steps whose ops were recorded.
-- Calls of one thread are in the order of their ends: modules before those that call them.
CREATE TABLE module_call (
  id         INTEGER PRIMARY KEY,
  thread_id  INTEGER NOT NULL REFERENCES thread,
  root_id    INTEGER REFERENCES string,  -- class of the outermost module that is called: 'Net'
  name_id    INTEGER REFERENCES string,  -- 'encoder.layer.3.attention'; NULL: the root itself
  class_id   INTEGER REFERENCES string,  -- 'MultiheadAttention'
  start_ns   INTEGER NOT NULL,
  dur_ns     INTEGER NOT NULL,
  phase      INTEGER NOT NULL REFERENCES phase_kind,  -- the thread's phase; backward: recomputed
  depth      INTEGER NOT NULL,  -- open calls of modules around this one
  held_bytes INTEGER            -- tensor memory allocated inside and not freed; NULL: not counted
) STRICT;

-- A device as one process sees it: the same GPU in two processes is two rows.
CREATE TABLE device (
  id              INTEGER PRIMARY KEY,
  process_id      INTEGER NOT NULL REFERENCES process,
  number          INTEGER NOT NULL,  -- as the process numbers it: 0 for cuda:0
  name            TEXT NOT NULL,     -- 'NVIDIA H100 80GB HBM3'
  memory_bytes    INTEGER,
  compute_major   INTEGER,           -- compute capability
  compute_minor   INTEGER,
  multiprocessors INTEGER,
  max_threads_per_multiprocessor  INTEGER,
  registers_per_multiprocessor    INTEGER,
  shared_bytes_per_multiprocessor INTEGER
) STRICT;

CREATE TABLE stream (
  id        INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL REFERENCES device,
  context   INTEGER NOT NULL,
  number    INTEGER NOT NULL  -- the driver's: 7 is the default stream
) STRICT;

-- The names of copy.kind.
CREATE TABLE copy_kind (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;
INSERT INTO copy_kind VALUES
  (0, 'unknown'), (1, 'HtoD'), (2, 'DtoH'), (3, 'HtoA'), (4, 'AtoH'), (5, 'AtoA'), (6, 'AtoD'),
  (7, 'DtoA'), (8, 'DtoD'), (9, 'HtoH'), (10, 'PtoP');

-- The names of copy.source and copy.target.
CREATE TABLE memory_kind (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;
INSERT INTO memory_kind VALUES
  (0, 'unknown'), (1, 'pageable'), (2, 'pinned'), (3, 'device'), (4, 'array'), (5, 'managed'),
  (6, 'device_static'), (7, 'managed_static');

-- The names of sync.kind.
CREATE TABLE sync_kind (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;
INSERT INTO sync_kind VALUES
  (0, 'unknown'), (1, 'event'), (2, 'stream_wait'), (3, 'stream'), (4, 'context');

-- Calls of the CUDA runtime and driver. correlation, here and below: a call and the device work
-- that it caused have the same number, unique in the store; NULL: none. The launch of a CUDA graph
-- causes many pieces of work.
CREATE TABLE api_call (
  id          INTEGER PRIMARY KEY,
  thread_id   INTEGER NOT NULL REFERENCES thread,
  name_id     INTEGER REFERENCES string,  -- 'cudaLaunchKernel'
  start_ns    INTEGER NOT NULL,
  dur_ns      INTEGER NOT NULL,
  correlation INTEGER
) STRICT;

CREATE TABLE kernel (
  id                   INTEGER PRIMARY KEY,
  stream_id            INTEGER NOT NULL REFERENCES stream,
  name_id              INTEGER REFERENCES string,
  start_ns             INTEGER NOT NULL,
  dur_ns               INTEGER NOT NULL,
  correlation          INTEGER,
  grid_x  INTEGER NOT NULL, grid_y  INTEGER NOT NULL, grid_z  INTEGER NOT NULL,  -- blocks
  block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,  -- threads
  registers            INTEGER NOT NULL,  -- per thread
  static_shared_bytes  INTEGER NOT NULL,  -- per block; the sum of both where only that is known
  dynamic_shared_bytes INTEGER NOT NULL,
  graph                INTEGER,           -- the CUDA graph; NULL: none
  graph_node           INTEGER
) STRICT;

CREATE TABLE copy (
  id          INTEGER PRIMARY KEY,
  stream_id   INTEGER NOT NULL REFERENCES stream,
  kind        INTEGER NOT NULL REFERENCES copy_kind,
  source      INTEGER NOT NULL REFERENCES memory_kind,
  target      INTEGER NOT NULL REFERENCES memory_kind,
  start_ns    INTEGER NOT NULL,
  dur_ns      INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  correlation INTEGER
) STRICT;

CREATE TABLE memset (
  id          INTEGER PRIMARY KEY,
  stream_id   INTEGER NOT NULL REFERENCES stream,
  start_ns    INTEGER NOT NULL,
  dur_ns      INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  correlation INTEGER
) STRICT;

-- The host waited for a device, or (stream_wait) one stream waited for another.
CREATE TABLE sync (
  id          INTEGER PRIMARY KEY,
  device_id   INTEGER NOT NULL REFERENCES device,
  stream_id   INTEGER REFERENCES stream,  -- NULL: for all of them
  kind        INTEGER NOT NULL REFERENCES sync_kind,
  start_ns    INTEGER NOT NULL,
  dur_ns      INTEGER NOT NULL,
  correlation INTEGER
) STRICT;

-- What `stepscope analyze` adds. --------------------------------------------------------------

CREATE TABLE step (
  id           INTEGER PRIMARY KEY,
  thread_id    INTEGER REFERENCES thread,  -- the loop's
  number       INTEGER NOT NULL,           -- from 1, over the whole run
  start_ns     INTEGER NOT NULL,
  dur_ns       INTEGER NOT NULL,
  marker       TEXT NOT NULL,     -- how it was found: user, loader, optimizer, closure, inferred
  ops_recorded INTEGER NOT NULL,  -- 1: its ops were recorded, from its start to its end
  steady       INTEGER NOT NULL,  -- 0: warm-up, not part of the verdict
  paused_ns    INTEGER NOT NULL DEFAULT 0  -- in segments inside it; not part of dur_ns
) STRICT;

-- What a training loop does between and inside its steps that is not training. Segments do not
-- overlap.
CREATE TABLE segment (
  id        INTEGER PRIMARY KEY,
  thread_id INTEGER NOT NULL REFERENCES thread,  -- the loop's
  kind      TEXT NOT NULL,     -- evaluation, checkpoint, between_epochs
  start_ns  INTEGER NOT NULL,
  dur_ns    INTEGER NOT NULL,
  step      INTEGER,           -- the number of the last step that began before it; NULL: none
  batches   INTEGER NOT NULL,  -- fetched during it
  input_ns  INTEGER NOT NULL   -- time it waited for them, or for an exhausted loader
) STRICT;

-- The exposed_ns of a step and device add up to the step's dur_ns, to the nanosecond.
CREATE TABLE step_time (
  id         INTEGER PRIMARY KEY,
  step_id    INTEGER NOT NULL REFERENCES step,
  category   TEXT NOT NULL,     -- compute, input, copy, communication, sync, launch, …
  phase      INTEGER NOT NULL REFERENCES phase_kind,
  label      TEXT,              -- for 'other': the scope
  exposed_ns INTEGER NOT NULL,
  hidden_ns  INTEGER NOT NULL,  -- behind something else; not in the sum
  device_id  INTEGER REFERENCES device  -- whose time this is; NULL: the loop thread's (no device)
) STRICT;

-- What bounds each single step, for each device.
CREATE TABLE step_kind (
  id         INTEGER PRIMARY KEY,
  step_id    INTEGER NOT NULL REFERENCES step,
  device_id  INTEGER REFERENCES device,  -- as in step_time
  kind       TEXT NOT NULL,              -- as in verdict
  population INTEGER                     -- population.number; NULL: not part of the verdict
) STRICT;

CREATE TABLE verdict (
  id         INTEGER PRIMARY KEY,
  thread_id  INTEGER REFERENCES thread,  -- the loop's; NULL: no loop was found
  kind       TEXT NOT NULL,  -- input-bound, compute-bound, …
  degree     TEXT,           -- highly, moderately
  share      REAL NOT NULL,  -- of step time, 0 to 1
  ci_low     REAL NOT NULL,  -- 95 % confidence interval of share
  ci_high    REAL NOT NULL,
  confidence TEXT NOT NULL,  -- high, medium, low
  sentence   TEXT NOT NULL,
  steps      INTEGER NOT NULL,  -- how many it rests on
  device_id  INTEGER REFERENCES device  -- NULL: seen from the host
) STRICT;

-- The kinds of step that a verdict's loop has: one, or several that differ from each other.
CREATE TABLE population (
  id         INTEGER PRIMARY KEY,
  verdict_id INTEGER NOT NULL REFERENCES verdict,
  number     INTEGER NOT NULL,  -- from 1, the usual steps first
  steps      INTEGER NOT NULL,
  mean_ns    INTEGER NOT NULL,
  share      REAL NOT NULL,     -- of all step time
  label      TEXT NOT NULL,     -- 'every 20th step (20, 40, …): +12.0 ms in input'
  kind       TEXT NOT NULL,     -- what bounds these steps alone
  degree     TEXT,
  period     INTEGER,           -- in steps: 20 is every 20th; NULL: aperiodic
  first_step INTEGER            -- the first of the period
) STRICT;

CREATE TABLE advice (
  id                INTEGER PRIMARY KEY,  -- in the order of rank
  verdict_id        INTEGER NOT NULL REFERENCES verdict,
  rule              TEXT NOT NULL,
  title             TEXT NOT NULL,
  why               TEXT NOT NULL,
  predicted_step_ns INTEGER NOT NULL,
  saves_ns          INTEGER NOT NULL, -- per step
  likely_low_ns     INTEGER,  -- the step time is likely between these two; NULL: unknown
  likely_high_ns    INTEGER
) STRICT;

CREATE TABLE evidence (
  id         INTEGER PRIMARY KEY,
  verdict_id INTEGER NOT NULL REFERENCES verdict,
  advice_id  INTEGER REFERENCES advice,  -- NULL: evidence of the verdict itself
  statement  TEXT NOT NULL,
  value      REAL NOT NULL,
  unit       TEXT NOT NULL,  -- ratio, ns, count
  query      TEXT NOT NULL   -- SQL on this store that shows it
) STRICT;

-- The op in which an API call was made: the innermost open op of its thread.
CREATE TABLE call_op (
  api_call_id INTEGER PRIMARY KEY REFERENCES api_call,
  op_id       INTEGER NOT NULL REFERENCES op
) STRICT;

-- For comparison with other tools only: docs/attribution.md, "The older breakdown".
CREATE TABLE priority_time (
  id        INTEGER PRIMARY KEY,
  thread_id INTEGER NOT NULL REFERENCES thread,  -- the loop's
  step      INTEGER NOT NULL,                    -- its number
  kernel_ns INTEGER NOT NULL,
  memcpy_ns INTEGER NOT NULL,
  memset_ns INTEGER NOT NULL,
  runtime_ns    INTEGER NOT NULL,
  dataloader_ns INTEGER NOT NULL,
  cpu_op_ns     INTEGER NOT NULL,
  other_ns      INTEGER NOT NULL
) STRICT;

-- The lines of the program that took a loop's time. share: the part of a category's time, or of the
-- time that the workers' batches were awaited, that was spent in the line or in what it called.
CREATE TABLE line_share (
  id        INTEGER PRIMARY KEY,  -- in the order of their importance
  thread_id INTEGER NOT NULL REFERENCES thread,  -- the loop's
  place     TEXT NOT NULL,     -- loop; worker: in the process whose batch was awaited
  category  TEXT NOT NULL,     -- input, host, compute, …
  file      TEXT NOT NULL,
  line      INTEGER NOT NULL,
  function  TEXT NOT NULL,
  inside    TEXT NOT NULL,     -- library function it mostly called: 'PIL/Image.py load'; '': none
  blocked   TEXT NOT NULL,     -- what it was mostly blocked in: 'read /data/train.bin'; '': it ran
  samples   INTEGER NOT NULL,
  share     REAL NOT NULL,     -- of the category, 0 to 1
  ci_low    REAL NOT NULL,     -- 95 % confidence interval of share
  ci_high   REAL NOT NULL,
  step_ns   INTEGER NOT NULL   -- per mean step; for a worker, only while its batch was awaited
) STRICT;

-- Merged kernel time of a device over the span of a loop's steps.
CREATE TABLE kernel_time (
  id        INTEGER PRIMARY KEY,
  thread_id INTEGER NOT NULL REFERENCES thread,  -- the loop's
  device_id INTEGER NOT NULL REFERENCES device,
  kernel_ns INTEGER NOT NULL,
  span_ns   INTEGER NOT NULL
) STRICT;

-- What launched the work of a device. One row for each correlation that a call shares with a
-- kernel, copy or memset.
CREATE TABLE launch (
  correlation   INTEGER PRIMARY KEY,
  api_call_id   INTEGER NOT NULL REFERENCES api_call,    -- of nested calls, the outer one
  phase         INTEGER NOT NULL REFERENCES phase_kind,  -- the loop's phase at the call
  op_id         INTEGER REFERENCES op,  -- the innermost op around the call; NULL: none
  node_id       INTEGER REFERENCES op,  -- the innermost autograd node around the call; NULL: none
  forward_op_id INTEGER REFERENCES op,  -- the op of the forward pass that made the node
  activities    INTEGER NOT NULL        -- what it launched: more than 1 for a CUDA graph
) STRICT;

-- What the name of a kernel says about it. Only for names that say something.
CREATE TABLE kernel_name (
  name_id      INTEGER PRIMARY KEY REFERENCES string,
  tensor_cores INTEGER NOT NULL  -- 1: the kernel uses them, 0: it does not
) STRICT;

-- How many blocks of a kernel fit on a multiprocessor at once, for each shape that was launched;
-- only for devices whose limits are known. docs/schema.md states the rules.
CREATE TABLE occupancy (
  device_id     INTEGER NOT NULL REFERENCES device,
  block_threads INTEGER NOT NULL,
  registers     INTEGER NOT NULL,  -- per thread
  shared_bytes  INTEGER NOT NULL,  -- per block, static and dynamic
  blocks        INTEGER NOT NULL,  -- per multiprocessor
  warps         INTEGER NOT NULL,  -- the same, in warps
  occupancy     REAL NOT NULL,     -- warps divided by the most that it can hold
  limited_by    TEXT NOT NULL,     -- warps, blocks, registers, shared memory
  PRIMARY KEY (device_id, block_threads, registers, shared_bytes)
) STRICT, WITHOUT ROWID;

-- How much of a copy's time overlapped with a kernel on its device.
CREATE TABLE copy_overlap (
  copy_id   INTEGER PRIMARY KEY REFERENCES copy,
  kernel_ns INTEGER NOT NULL
) STRICT;

-- How long a stream was busy (busy_ns), out of the time from the first to the last activity of its
-- device (span_ns).
CREATE TABLE stream_time (
  stream_id INTEGER PRIMARY KEY REFERENCES stream,
  busy_ns   INTEGER NOT NULL,
  span_ns   INTEGER NOT NULL
) STRICT;

-- The cost of the modules of a loop's model in a mean step, without the cost of recording them.
CREATE TABLE module_time (
  id               INTEGER PRIMARY KEY,  -- in the order of the tree: a module before those inside
  thread_id        INTEGER NOT NULL REFERENCES thread,  -- the loop's
  root             TEXT NOT NULL,     -- class of the outermost module that is called: 'Net'
  name             TEXT NOT NULL,     -- 'encoder.layer.3.attention'; '': the root itself
  class            TEXT NOT NULL,     -- '': a module that is never called, such as a ModuleList
  steps            INTEGER NOT NULL,  -- steps that the figures are based on
  calls            REAL NOT NULL,     -- per step, as are all columns below
  recomputed       REAL NOT NULL,     -- part of calls: those in the backward pass
  ops              REAL NOT NULL,     -- that ran inside its forward calls
  forward_ns       INTEGER NOT NULL,
  forward_self_ns  INTEGER NOT NULL,  -- outside any module that it called
  backward_ns      INTEGER NOT NULL,  -- of the autograd nodes that its forward pass created
  backward_self_ns INTEGER NOT NULL,
  held_bytes       INTEGER            -- tensor memory left by its forward pass; NULL: not counted
) STRICT;

-- Views for people. ---------------------------------------------------------------------------

-- One row per step and device that worked for it (device_id NULL: seen from the host). The category
-- columns hold exposed time and add up to dur_ns. Needs an analysis.
CREATE VIEW step_breakdown AS
SELECT
  step.number, step.start_ns, step.dur_ns, step.dur_ns / 1e6 AS dur_ms,
  sum(iif(t.category = 'compute', t.exposed_ns, 0)) AS compute_ns,
  sum(iif(t.category = 'input', t.exposed_ns, 0)) AS input_ns,
  sum(iif(t.category = 'copy', t.exposed_ns, 0)) AS copy_ns,
  sum(iif(t.category = 'communication', t.exposed_ns, 0)) AS communication_ns,
  sum(iif(t.category = 'sync', t.exposed_ns, 0)) AS sync_ns,
  sum(iif(t.category = 'launch', t.exposed_ns, 0)) AS launch_ns,
  sum(iif(t.category = 'allocation', t.exposed_ns, 0)) AS allocation_ns,
  sum(iif(t.category = 'host', t.exposed_ns, 0)) AS host_ns,
  sum(iif(t.category = 'other', t.exposed_ns, 0)) AS other_ns,
  coalesce(sum(t.hidden_ns), 0) AS hidden_ns,
  k.kind, k.population,
  step.marker, step.steady, step.ops_recorded, step.thread_id, step.id AS step_id, t.device_id
FROM step LEFT JOIN step_time AS t ON t.step_id = step.id
LEFT JOIN step_kind AS k ON k.step_id = step.id AND k.device_id IS t.device_id
GROUP BY step.id, t.device_id;

-- One row per op name, phase and scope. The query groups by ids first, so that names are looked up
-- once per group, not once per op.
CREATE VIEW op_stats AS
SELECT
  string.text AS name, phase_kind.name AS phase, op_scope.name AS scope,
  g.calls, g.total_ns, g.self_ns, g.total_ns / g.calls AS mean_ns, g.min_ns, g.max_ns
FROM (
  SELECT
    name_id, phase, scope, count(*) AS calls, sum(dur_ns) AS total_ns,
    sum(coalesce(self_ns, dur_ns)) AS self_ns, min(dur_ns) AS min_ns, max(dur_ns) AS max_ns
  FROM op GROUP BY name_id, phase, scope
) AS g
LEFT JOIN string ON string.id = g.name_id
LEFT JOIN phase_kind ON phase_kind.id = g.phase
LEFT JOIN op_scope ON op_scope.id = g.scope;

-- One row per wait of a loop for its next batch. step and segment: those in which it began; NULL
-- without an analysis. busy_share: near 1, the loop thread did the work itself; near 0, it was
-- blocked.
CREATE VIEW input_stats AS
SELECT
  string.text AS loader, phase.start_ns, phase.dur_ns, phase.cpu_ns,
  iif(phase.dur_ns > 0, min(1.0, 1.0 * phase.cpu_ns / phase.dur_ns), 0.0) AS busy_share,
  (SELECT iif(phase.start_ns < step.start_ns + step.dur_ns + step.paused_ns, step.number, NULL)
   FROM step WHERE step.thread_id = phase.thread_id AND step.start_ns <= phase.start_ns
   ORDER BY step.start_ns DESC LIMIT 1) AS step,
  (SELECT iif(phase.start_ns < segment.start_ns + segment.dur_ns, segment.kind, NULL)
   FROM segment WHERE segment.thread_id = phase.thread_id AND segment.start_ns <= phase.start_ns
   ORDER BY segment.start_ns DESC LIMIT 1) AS segment,
  phase.thread_id
FROM phase LEFT JOIN string ON string.id = phase.name_id
WHERE phase.kind = 1;

-- Everything that has a name and a time, track by track: 'step', 'segment', 'phase', 'op',
-- 'api_call'; 'unfinished' (an op that was open when its process died); 'kernel', 'copy', 'memset'
-- of a stream (thread_id is NULL). Add your own ORDER BY.
CREATE VIEW timeline AS
SELECT
  process.name AS process, coalesce(thread.name, e.stream) AS thread, e.track, e.name, e.start_ns,
  e.dur_ns, e.thread_id
FROM (
  SELECT 'step' AS track, 'step ' || number AS name, start_ns, dur_ns, thread_id, NULL AS process_id,
    NULL AS stream
  FROM step
  UNION ALL
  SELECT 'segment', kind, start_ns, dur_ns, thread_id, NULL, NULL FROM segment
  UNION ALL
  SELECT 'phase', coalesce(phase_kind.name || ': ' || string.text, phase_kind.name),
    start_ns, dur_ns, thread_id, NULL, NULL
  FROM phase LEFT JOIN phase_kind ON phase_kind.id = phase.kind
  LEFT JOIN string ON string.id = phase.name_id
  UNION ALL
  SELECT 'op', string.text, start_ns, dur_ns, thread_id, NULL, NULL
  FROM op LEFT JOIN string ON string.id = op.name_id
  UNION ALL
  SELECT 'api_call', string.text, start_ns, dur_ns, thread_id, NULL, NULL
  FROM api_call LEFT JOIN string ON string.id = api_call.name_id
  UNION ALL
  SELECT 'unfinished', string.text, start_ns, process_end.at_ns - start_ns, thread_id, NULL, NULL
  FROM unfinished_op LEFT JOIN string ON string.id = unfinished_op.name_id
  LEFT JOIN thread ON thread.id = thread_id
  LEFT JOIN process_end ON process_end.process_id = thread.process_id
  UNION ALL
  SELECT kind, name, start_ns, dur_ns, NULL, process_id, 'stream ' || stream FROM device_activity
) AS e
LEFT JOIN thread ON thread.id = e.thread_id
LEFT JOIN process ON process.id = coalesce(thread.process_id, e.process_id);

-- One row per scope name and thread: everything that ran inside the user's scopes, whatever its
-- category.
CREATE VIEW scope_stats AS
SELECT
  string.text AS name, g.calls, g.total_ns, g.total_ns / g.calls AS mean_ns, g.min_ns, g.max_ns,
  g.cpu_ns, g.thread_id
FROM (
  SELECT
    name_id, thread_id, count(*) AS calls, sum(dur_ns) AS total_ns, min(dur_ns) AS min_ns,
    max(dur_ns) AS max_ns, sum(cpu_ns) AS cpu_ns
  FROM phase WHERE kind = 6 GROUP BY name_id, thread_id
) AS g
LEFT JOIN string ON string.id = g.name_id;

-- One row per line and thread in which the line was innermost: where the interpreter itself was,
-- even in a library. share: of the samples of that thread.
CREATE VIEW line_stats AS
SELECT
  process.name AS process, w.pid, w.tid, w.name AS thread, file.text AS file, g.line,
  function.text AS function, g.samples, g.blocked, g.awaited,
  1.0 * g.samples / sum(g.samples) OVER (PARTITION BY g.watched_thread_id) AS share
FROM (
  SELECT
    watched_thread_id, file_id, function_id, line, count(*) AS samples,
    count(blocked_id) AS blocked, sum(awaited) AS awaited
  FROM stack_sample JOIN frame ON frame.id = frame_id
  GROUP BY watched_thread_id, file_id, function_id, line
) AS g
JOIN watched_thread AS w ON w.id = g.watched_thread_id
LEFT JOIN process ON process.id = w.process_id
LEFT JOIN string AS file ON file.id = g.file_id
LEFT JOIN string AS function ON function.id = g.function_id;

-- One row for each thread that was in an op when its process ended (one row for the process if none
-- was): how the process ended, in which step and op, and its memory at the last reading.
CREATE VIEW run_end AS
SELECT
  process.name AS process, process.pid, process.rank,
  e.how, e.code, e.out_of_memory, e.step, e.at_ns,
  (SELECT value FROM sample JOIN string ON string.id = name_id
   WHERE process_id = e.process_id AND string.text = 'rss_bytes'
   ORDER BY sample.at_ns DESC LIMIT 1) AS rss_bytes,
  inner_op.thread, inner_op.tid, inner_op.op, inner_op.phase, inner_op.open_ops, e.process_id
FROM process_end AS e
JOIN process ON process.id = e.process_id
LEFT JOIN (
  -- SQLite takes the other columns from the row of the max(): the innermost op.
  SELECT
    thread.process_id, thread.name AS thread, thread.tid, string.text AS op,
    phase_kind.name AS phase, count(*) AS open_ops, max(u.depth)
  FROM unfinished_op AS u
  JOIN thread ON thread.id = u.thread_id
  LEFT JOIN string ON string.id = u.name_id
  LEFT JOIN phase_kind ON phase_kind.id = u.phase
  GROUP BY u.thread_id
) AS inner_op ON inner_op.process_id = e.process_id;

-- One row per sample. per_second: the rate of change since the previous sample, which is the
-- meaningful figure for a total.
CREATE VIEW counter AS
SELECT
  coalesce(process.name, 'machine') AS process, process.pid, string.text AS counter,
  s.at_ns, s.value,
  1e9 * (s.value - s.value_before) / nullif(s.at_ns - s.at_before, 0) AS per_second, s.process_id,
  s.gpu
FROM (
  SELECT
    process_id, name_id, gpu, at_ns, value, lag(value) OVER earlier AS value_before,
    lag(at_ns) OVER earlier AS at_before
  FROM sample WINDOW earlier AS (PARTITION BY process_id, name_id, gpu ORDER BY at_ns)
) AS s
JOIN string ON string.id = s.name_id
LEFT JOIN process ON process.id = s.process_id;

-- Everything that devices did, in one table. kind: kernel, copy, memset. name: the kernel's name, a
-- direction such as 'HtoD', or 'memset'.
CREATE VIEW device_activity AS
SELECT
  a.kind, coalesce(a.name, string.text) AS name, a.start_ns, a.dur_ns, a.bytes, a.correlation,
  stream.number AS stream, device.number AS device, a.stream_id, stream.device_id,
  device.process_id, a.id
FROM (
  SELECT 'kernel' AS kind, NULL AS name, name_id, start_ns, dur_ns, NULL AS bytes, correlation,
    stream_id, id FROM kernel
  UNION ALL
  SELECT 'copy', copy_kind.name, NULL, start_ns, dur_ns, bytes, correlation, stream_id, copy.id
  FROM copy LEFT JOIN copy_kind ON copy_kind.id = copy.kind
  UNION ALL
  SELECT 'memset', 'memset', NULL, start_ns, dur_ns, bytes, correlation, stream_id, id FROM memset
) AS a
LEFT JOIN string ON string.id = a.name_id
LEFT JOIN stream ON stream.id = a.stream_id
LEFT JOIN device ON device.id = stream.device_id;

-- The breakdown that other tools print, in their unit: each instant of a step goes to the first of
-- these columns that is active anywhere. Needs an analysis. docs/attribution.md says why
-- step_breakdown differs.
CREATE VIEW priority_breakdown AS
SELECT
  step, kernel_ns / 1e3 AS kernel_us, memcpy_ns / 1e3 AS memcpy_us, memset_ns / 1e3 AS memset_us,
  runtime_ns / 1e3 AS runtime_us, dataloader_ns / 1e3 AS dataloader_us, cpu_op_ns / 1e3 AS cpu_op_us,
  other_ns / 1e3 AS other_us, thread_id
FROM priority_time;

-- How busy a device was with kernels while a loop ran. Needs an analysis.
CREATE VIEW device_utilization AS
SELECT
  device.number AS device, device.name, 1.0 * kernel_ns / nullif(span_ns, 0) AS utilization,
  kernel_ns, span_ns, thread_id, device_id
FROM kernel_time LEFT JOIN device ON device.id = device_id;

-- One row per op name: how many ops launched device work themselves, and the time of that work
-- (without that of their child ops). Needs an analysis.
CREATE VIEW op_device_stats AS
SELECT string.text AS name, count(DISTINCT op.id) AS calls, sum(a.dur_ns) AS device_self_ns
FROM (
  SELECT correlation, dur_ns FROM kernel UNION ALL SELECT correlation, dur_ns FROM copy
  UNION ALL SELECT correlation, dur_ns FROM memset
) AS a
JOIN launch ON launch.correlation = a.correlation
JOIN op ON op.id = launch.op_id
LEFT JOIN string ON string.id = op.name_id
GROUP BY op.name_id;

-- One row per kernel, with what launched it. launched_in: 'op'; 'no op' (the calling thread was in
-- none); 'unknown' (the call was not recorded). node, forward_op: for a kernel of the backward
-- pass, the autograd node it ran for and the op of the forward pass that created that node. Needs
-- an analysis.
CREATE VIEW kernel_ops AS
SELECT
  kernel_name.text AS kernel, kernel.start_ns, kernel.dur_ns, phase_kind.name AS phase,
  CASE WHEN launch.correlation IS NULL THEN 'unknown' WHEN launch.op_id IS NULL THEN 'no op'
    ELSE 'op' END AS launched_in,
  op_name.text AS op, node_name.text AS node, forward_name.text AS forward_op,
  call_name.text AS call, thread.name AS thread, kernel.graph, launch.activities,
  launch.op_id, launch.node_id, launch.forward_op_id, launch.api_call_id, api_call.thread_id,
  kernel.stream_id, stream.device_id, kernel.id AS kernel_id
FROM kernel
LEFT JOIN string AS kernel_name ON kernel_name.id = kernel.name_id
LEFT JOIN stream ON stream.id = kernel.stream_id
LEFT JOIN launch ON launch.correlation = kernel.correlation
LEFT JOIN phase_kind ON phase_kind.id = launch.phase
LEFT JOIN op ON op.id = launch.op_id
LEFT JOIN string AS op_name ON op_name.id = op.name_id
LEFT JOIN op AS node ON node.id = launch.node_id
LEFT JOIN string AS node_name ON node_name.id = node.name_id
LEFT JOIN op AS forward_op ON forward_op.id = launch.forward_op_id
LEFT JOIN string AS forward_name ON forward_name.id = forward_op.name_id
LEFT JOIN api_call ON api_call.id = launch.api_call_id
LEFT JOIN string AS call_name ON call_name.id = api_call.name_id
LEFT JOIN thread ON thread.id = api_call.thread_id;

-- One row per kernel, op that launched it, and launch shape. device_share: of the time of all
-- kernels, copies and memsets of the device. op, occupancy, limited_by and tensor_cores need an
-- analysis, and are NULL if unknown.
CREATE VIEW kernel_stats AS
SELECT
  string.text AS name, op_name.text AS op, device.number AS device,
  g.calls, g.total_ns, g.total_ns / g.calls AS mean_ns, g.min_ns, g.max_ns,
  1.0 * g.total_ns / nullif(whole.ns, 0) AS device_share,
  g.grid_x || 'x' || g.grid_y || 'x' || g.grid_z AS grid,
  g.block_x || 'x' || g.block_y || 'x' || g.block_z AS block,
  g.registers, g.shared_bytes, occupancy.occupancy, occupancy.limited_by,
  kernel_name.tensor_cores, g.device_id
FROM (
  SELECT
    stream.device_id, kernel.name_id, op.name_id AS op_name_id, grid_x, grid_y, grid_z, block_x,
    block_y, block_z, registers, static_shared_bytes + dynamic_shared_bytes AS shared_bytes,
    count(*) AS calls, sum(kernel.dur_ns) AS total_ns, min(kernel.dur_ns) AS min_ns,
    max(kernel.dur_ns) AS max_ns
  FROM kernel
  LEFT JOIN stream ON stream.id = kernel.stream_id
  LEFT JOIN launch ON launch.correlation = kernel.correlation
  LEFT JOIN op ON op.id = launch.op_id
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
) AS g
LEFT JOIN (
  SELECT device_id, sum(dur_ns) AS ns FROM device_activity GROUP BY device_id
) AS whole ON whole.device_id = g.device_id
LEFT JOIN device ON device.id = g.device_id
LEFT JOIN string ON string.id = g.name_id
LEFT JOIN string AS op_name ON op_name.id = g.op_name_id
LEFT JOIN kernel_name ON kernel_name.name_id = g.name_id
LEFT JOIN occupancy ON occupancy.device_id = g.device_id
  AND occupancy.block_threads = g.block_x * g.block_y * g.block_z
  AND occupancy.registers = g.registers AND occupancy.shared_bytes = g.shared_bytes;

-- One row per stream, direction and memory kinds of its copies. gb_per_second: in 10^9 bytes.
-- pinned: whether the host memory is pinned (NULL: unknown, or no host memory). kernel_ns: the part
-- of total_ns in which a kernel ran on the device; needs an analysis.
CREATE VIEW copy_stats AS
SELECT
  copy_kind.name AS direction, source.name AS source, target.name AS target,
  CASE WHEN 1 IN (g.source, g.target) THEN 0 WHEN 2 IN (g.source, g.target) THEN 1 END AS pinned,
  device.number AS device, stream.number AS stream, g.copies, g.bytes, g.total_ns,
  g.total_ns / g.copies AS mean_ns, 1.0 * g.bytes / nullif(g.total_ns, 0) AS gb_per_second,
  g.kernel_ns, 1.0 * g.kernel_ns / nullif(g.total_ns, 0) AS overlap_share, g.stream_id,
  stream.device_id
FROM (
  SELECT
    stream_id, kind, source, target, count(*) AS copies, sum(bytes) AS bytes,
    sum(dur_ns) AS total_ns, sum(kernel_ns) AS kernel_ns
  FROM copy LEFT JOIN copy_overlap ON copy_overlap.copy_id = copy.id
  GROUP BY stream_id, kind, source, target
) AS g
LEFT JOIN copy_kind ON copy_kind.id = g.kind
LEFT JOIN memory_kind AS source ON source.id = g.source
LEFT JOIN memory_kind AS target ON target.id = g.target
LEFT JOIN stream ON stream.id = g.stream_id
LEFT JOIN device ON device.id = stream.device_id;

-- One row per stream that did anything. idle_ns: idle time between the first and the last activity
-- of its device. idle_ns, busy_ns and busy_share need an analysis.
CREATE VIEW stream_stats AS
SELECT
  a.device, a.stream, count(*) FILTER (WHERE a.kind = 'kernel') AS kernels,
  count(*) FILTER (WHERE a.kind = 'copy') AS copies,
  count(*) FILTER (WHERE a.kind = 'memset') AS memsets,
  coalesce(sum(a.dur_ns) FILTER (WHERE a.kind = 'kernel'), 0) AS kernel_ns,
  coalesce(sum(a.dur_ns) FILTER (WHERE a.kind = 'copy'), 0) AS copy_ns,
  t.busy_ns, t.span_ns - t.busy_ns AS idle_ns, 1.0 * t.busy_ns / nullif(t.span_ns, 0) AS busy_share,
  min(a.start_ns) AS first_ns, max(a.start_ns + a.dur_ns) AS last_ns, a.stream_id, a.device_id
FROM device_activity AS a LEFT JOIN stream_time AS t ON t.stream_id = a.stream_id
GROUP BY a.stream_id;

-- One row per watched thread: how long it ran and how long it was starved, from its first to its
-- last reading. starved_share: of the time that it had something to do.
CREATE VIEW starved_threads AS
SELECT
  process.name AS process, w.pid, w.tid, w.name AS thread, g.run_ns, g.starved_ns,
  1.0 * g.starved_ns / nullif(g.run_ns + g.starved_ns, 0) AS starved_share, g.cores, g.first_ns,
  g.last_ns, w.process_id
FROM (
  SELECT
    watched_thread_id, max(run_ns) - min(run_ns) AS run_ns,
    max(starved_ns) - min(starved_ns) AS starved_ns, min(cores) AS cores, min(at_ns) AS first_ns,
    max(at_ns) AS last_ns
  FROM thread_reading GROUP BY watched_thread_id
) AS g
JOIN watched_thread AS w ON w.id = g.watched_thread_id
LEFT JOIN process ON process.id = w.process_id;

-- One row per module of a loop's model, in the order of the tree. Times and counts are those of a
-- mean step. step_share: of the mean step. Needs an analysis.
CREATE VIEW module_stats AS
SELECT
  m.root, m.name, m.class, m.calls, m.forward_ns, m.backward_ns,
  m.forward_ns + m.backward_ns AS total_ns,
  1.0 * (m.forward_ns + m.backward_ns) / nullif(s.mean_ns, 0) AS step_share,
  m.forward_self_ns, m.backward_self_ns, m.held_bytes, m.ops, m.recomputed, m.steps, m.thread_id
FROM module_time AS m
LEFT JOIN (
  SELECT thread_id, avg(dur_ns) AS mean_ns FROM step WHERE steady GROUP BY thread_id
) AS s ON s.thread_id = m.thread_id
ORDER BY m.id;
