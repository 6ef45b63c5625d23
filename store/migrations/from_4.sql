-- Version 4 to 5: for how long threads ran, and were ready without a core; and between which instants
-- the ops of a process were recorded; what a training loop does that is no step;
-- and the lines of source that threads were in.

INSERT OR IGNORE INTO phase_kind VALUES (10, 'ops_begin'), (11, 'ops_end'), (12, 'lost');

-- For how long a marked thread ran, and was ready without a core, from one mark to the next; the rest
-- of dur_ns it was blocked. Only where it was off its core: from any mark to the next without a row it
-- ran all but 0.1 ms.
CREATE TABLE thread_stretch (
  id         INTEGER PRIMARY KEY,
  thread_id  INTEGER NOT NULL REFERENCES thread,
  start_ns   INTEGER NOT NULL,
  dur_ns     INTEGER NOT NULL,
  run_ns     INTEGER NOT NULL,
  starved_ns INTEGER NOT NULL
) STRICT;

-- The threads whose scheduling was sampled: those of the recorded processes and of their workers,
-- also the ones that never record anything.
CREATE TABLE watched_thread (
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process,  -- its own, or the one that started its own
  pid        INTEGER NOT NULL,  -- other than process.pid: a worker that is not recorded
  tid        INTEGER NOT NULL,
  name       TEXT NOT NULL
) STRICT;

-- Readings of their scheduling, about ten a second; none while a thread does nothing.
CREATE TABLE thread_reading (
  id                INTEGER PRIMARY KEY,
  watched_thread_id INTEGER NOT NULL REFERENCES watched_thread,
  at_ns             INTEGER NOT NULL,
  run_ns            INTEGER NOT NULL,  -- that it ran since it began
  starved_ns        INTEGER NOT NULL,  -- that it was ready since it began, and had no core
  cores             INTEGER            -- that it may run on; NULL: unknown
) STRICT;

-- A row for each watched thread: for how long it ran and was starved of a core, from its first to its
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

ALTER TABLE step ADD COLUMN paused_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE advice ADD COLUMN likely_low_ns INTEGER;
ALTER TABLE advice ADD COLUMN likely_high_ns INTEGER;

-- What a training loop does between and inside its steps that is not training. They do not overlap.
CREATE TABLE segment (
  id        INTEGER PRIMARY KEY,
  thread_id INTEGER NOT NULL REFERENCES thread,  -- the loop's
  kind      TEXT NOT NULL,     -- evaluation, checkpoint, between_epochs
  start_ns  INTEGER NOT NULL,
  dur_ns    INTEGER NOT NULL,
  step      INTEGER,           -- the number of the last step that began before it; NULL: none
  batches   INTEGER NOT NULL,  -- that it fetched
  input_ns  INTEGER NOT NULL   -- that it waited for them, or for a loader that was exhausted
) STRICT;

DROP VIEW input_stats;
DROP VIEW timeline;

-- A row for each wait of a loop for its next batch. step and segment are those it began in; NULL without
-- an analysis. busy_share: near 1 the loop thread did the work itself, near 0 it was blocked.
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

-- Everything that has a name and a time, track by track ('step', 'segment', 'phase', 'op', 'api_call';
-- 'unfinished': an op that its process died in; 'kernel', 'copy', 'memset' of a stream, whose thread_id
-- is NULL); add your own order.
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

-- A row for each name of a user's scopes and thread: all that ran inside them, whatever its category.
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

-- The frames of call stacks, as a tree: each is a line that was being run, called from `caller_id`.
CREATE TABLE frame (
  id          INTEGER PRIMARY KEY,             -- callers before what they call
  caller_id   INTEGER REFERENCES frame,        -- NULL: the outermost
  function_id INTEGER NOT NULL REFERENCES string,  -- 'Images.__getitem__'
  file_id     INTEGER NOT NULL REFERENCES string,
  line        INTEGER                          -- NULL: unknown
) STRICT;

-- What a thread was doing at an instant. Threads are looked at at random, more often while they are
-- waited for: to be divided within one thread and phase, not added up over several.
CREATE TABLE stack_sample (
  id                INTEGER PRIMARY KEY,
  watched_thread_id INTEGER NOT NULL REFERENCES watched_thread,
  at_ns             INTEGER NOT NULL,
  frame_id          INTEGER NOT NULL REFERENCES frame,  -- the innermost
  awaited           INTEGER NOT NULL,  -- 1: a loop was waiting for the batch of this thread's process
  blocked_id        INTEGER REFERENCES string  -- 'read /data/train.bin'; NULL: it ran, or was ready to
) STRICT;

-- A running thread was in code of a native library, which was neither the interpreter's nor PyTorch's.
-- Each row stands for the same CPU time of its thread: meta 'native_period_ns'.
CREATE TABLE native_sample (
  id                INTEGER PRIMARY KEY,
  watched_thread_id INTEGER NOT NULL REFERENCES watched_thread,
  at_ns             INTEGER NOT NULL,
  library_id        INTEGER NOT NULL REFERENCES string  -- '/venv/lib/…/numpy.libs/libopenblas.so'
) STRICT;

-- The lines of the program that a loop's time went to: the share of a category's time, or of the time
-- that the workers' batches were awaited, that was spent in a line or in what it called.
CREATE TABLE line_share (
  id        INTEGER PRIMARY KEY,  -- in the order of their importance
  thread_id INTEGER NOT NULL REFERENCES thread,  -- the loop's
  place     TEXT NOT NULL,     -- loop; worker: in the process whose batch was awaited
  category  TEXT NOT NULL,     -- input, host, compute, …
  file      TEXT NOT NULL,
  line      INTEGER NOT NULL,
  function  TEXT NOT NULL,
  inside    TEXT NOT NULL,     -- what it mostly called in libraries: 'PIL/Image.py load'; '': nothing
  blocked   TEXT NOT NULL,     -- what it was mostly blocked in: 'read /data/train.bin'; '': it ran
  samples   INTEGER NOT NULL,
  share     REAL NOT NULL,     -- of the category, 0 to 1
  ci_low    REAL NOT NULL,     -- 95 % confidence interval of share
  ci_high   REAL NOT NULL,
  step_ns   INTEGER NOT NULL   -- in a mean step; of a worker: of the time that it was awaited
) STRICT;

-- A row for each line that was seen innermost in a thread: where the interpreter itself was, in
-- libraries too. share: of the samples of that thread.
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

-- A call of a module (torch.nn.Module) in a Python program, in the steps whose ops were recorded. Of
-- one thread in the order of their ends: modules before those that call them.
CREATE TABLE module_call (
  id         INTEGER PRIMARY KEY,
  thread_id  INTEGER NOT NULL REFERENCES thread,
  root_id    INTEGER REFERENCES string,  -- the class of the module that it is named within: 'Net'
  name_id    INTEGER REFERENCES string,  -- 'encoder.layer.3.attention'; NULL: the root itself
  class_id   INTEGER REFERENCES string,  -- 'MultiheadAttention'
  start_ns   INTEGER NOT NULL,
  dur_ns     INTEGER NOT NULL,
  phase      INTEGER NOT NULL REFERENCES phase_kind,  -- what the thread was in; backward: recomputed
  depth      INTEGER NOT NULL,  -- open calls of modules around this one
  held_bytes INTEGER            -- of tensors, allocated inside and not freed there; NULL: not counted
) STRICT;

-- What the modules of a loop's model took in a mean step, without what recording them cost.
CREATE TABLE module_time (
  id               INTEGER PRIMARY KEY,  -- in the order of the tree: a module before those inside
  thread_id        INTEGER NOT NULL REFERENCES thread,  -- the loop's
  root             TEXT NOT NULL,     -- the class of the module that it is named within: 'Net'
  name             TEXT NOT NULL,     -- 'encoder.layer.3.attention'; '': the root itself
  class            TEXT NOT NULL,     -- '': never called itself, such as a ModuleList
  steps            INTEGER NOT NULL,  -- that the figures rest on
  calls            REAL NOT NULL,     -- a step, as all that follows
  recomputed       REAL NOT NULL,     -- of the calls, those in the backward pass
  ops              REAL NOT NULL,     -- that ran inside its calls in the forward pass
  forward_ns       INTEGER NOT NULL,
  forward_self_ns  INTEGER NOT NULL,  -- outside any module that it called
  backward_ns      INTEGER NOT NULL,  -- of the autograd nodes that its forward pass made
  backward_self_ns INTEGER NOT NULL,
  held_bytes       INTEGER            -- of tensors, that its forward pass left; NULL: not counted
) STRICT;

-- A row for each module of a loop's model, in the order of the tree; times and counts are those of a mean
-- step. step_share: of the mean step. Needs an analysis.
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
