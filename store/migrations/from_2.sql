-- Version 2 to 3: what devices do. Stores of before have none of it.

-- A device as one process sees it: the same GPU in two processes is two rows.
CREATE TABLE device (
  id              INTEGER PRIMARY KEY,
  process_id      INTEGER NOT NULL REFERENCES process,
  number          INTEGER NOT NULL,  -- what the process calls it: 0 of cuda:0
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

-- Calls of the CUDA runtime and driver. correlation, here and below: a call and what it made a
-- device do have the same number, unique in the store; NULL: none. A CUDA graph's launch has many.
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
  registers            INTEGER NOT NULL,  -- a thread
  static_shared_bytes  INTEGER NOT NULL,  -- a block; the sum where only that is known
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

-- The host waited for a device, or (stream_wait) one stream for another.
CREATE TABLE sync (
  id          INTEGER PRIMARY KEY,
  device_id   INTEGER NOT NULL REFERENCES device,
  stream_id   INTEGER REFERENCES stream,  -- NULL: for all of them
  kind        INTEGER NOT NULL REFERENCES sync_kind,
  start_ns    INTEGER NOT NULL,
  dur_ns      INTEGER NOT NULL,
  correlation INTEGER
) STRICT;

-- The op that an API call was made in: the innermost one of its thread that was open then.
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

-- Merged kernel time of a device over the span of a loop's steps.
CREATE TABLE kernel_time (
  id        INTEGER PRIMARY KEY,
  thread_id INTEGER NOT NULL REFERENCES thread,  -- the loop's
  device_id INTEGER NOT NULL REFERENCES device,
  kernel_ns INTEGER NOT NULL,
  span_ns   INTEGER NOT NULL
) STRICT;

ALTER TABLE step_time ADD COLUMN device_id INTEGER REFERENCES device;
ALTER TABLE verdict ADD COLUMN device_id INTEGER REFERENCES device;

-- What each step alone (and device) is bound by.
CREATE TABLE step_kind (
  id         INTEGER PRIMARY KEY,
  step_id    INTEGER NOT NULL REFERENCES step,
  device_id  INTEGER REFERENCES device,  -- as in step_time
  kind       TEXT NOT NULL,              -- as in verdict
  population INTEGER                     -- population.number; NULL: no part of the verdict
) STRICT;

-- The kinds of step that a verdict's loop has: one, or several that are told apart.
CREATE TABLE population (
  id         INTEGER PRIMARY KEY,
  verdict_id INTEGER NOT NULL REFERENCES verdict,
  number     INTEGER NOT NULL,  -- from 1, the usual steps first
  steps      INTEGER NOT NULL,
  mean_ns    INTEGER NOT NULL,
  share      REAL NOT NULL,     -- of all step time
  label      TEXT NOT NULL,     -- 'every 20th step (20, 40, …): +12.0 ms in input'
  kind       TEXT NOT NULL,     -- what these steps alone are bound by
  degree     TEXT,
  period     INTEGER,           -- in steps: 20 is every 20th; NULL: irregular
  first_step INTEGER            -- the first of the period
) STRICT;

DROP VIEW step_breakdown;
DROP VIEW timeline;

-- A row a step, and device that worked for it (NULL: seen from the host); the category columns hold
-- exposed time and add up to dur_ns. Needs an analysis.
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

-- Everything that has a name and a time, track by track ('step', 'phase', 'op', 'api_call'; 'unfinished':
-- an op that its process died in; 'kernel', 'copy', 'memset' of a stream, whose thread_id is NULL); add
-- your own order.
CREATE VIEW timeline AS
SELECT
  process.name AS process, coalesce(thread.name, e.stream) AS thread, e.track, e.name, e.start_ns,
  e.dur_ns, e.thread_id
FROM (
  SELECT 'step' AS track, 'step ' || number AS name, start_ns, dur_ns, thread_id, NULL AS process_id,
    NULL AS stream
  FROM step
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

-- Everything a device did, in one table. kind: kernel, copy, memset. name: the kernel, 'HtoD', ….
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
-- these that is live anywhere. Needs an analysis. docs/attribution.md says why step_breakdown is
-- something else.
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

-- A row for each op name: what the device work that it launched itself took (that of its child ops is
-- theirs), and how many ops did. Needs an analysis.
CREATE VIEW op_device_stats AS
SELECT string.text AS name, count(DISTINCT op.id) AS calls, sum(a.dur_ns) AS device_self_ns
FROM (
  SELECT correlation, dur_ns FROM kernel UNION ALL SELECT correlation, dur_ns FROM copy
  UNION ALL SELECT correlation, dur_ns FROM memset
) AS a
JOIN api_call ON api_call.correlation = a.correlation
JOIN call_op ON call_op.api_call_id = api_call.id
JOIN op ON op.id = call_op.op_id
LEFT JOIN string ON string.id = op.name_id
GROUP BY op.name_id;
