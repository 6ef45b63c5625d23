-- From version 3 to 4: GPU counters, and what launched, filled and shared the work of a device.

ALTER TABLE sample ADD COLUMN gpu INTEGER;

-- What launched the work of a device: a row for each correlation that a call and a kernel, copy or
-- memset share.
CREATE TABLE launch (
  correlation   INTEGER PRIMARY KEY,
  api_call_id   INTEGER NOT NULL REFERENCES api_call,    -- the outer one of a call within a call
  phase         INTEGER NOT NULL REFERENCES phase_kind,  -- what the loop was in at the call
  op_id         INTEGER REFERENCES op,  -- the innermost op around the call; NULL: its thread was in none
  node_id       INTEGER REFERENCES op,  -- the innermost autograd node around the call; NULL: none
  forward_op_id INTEGER REFERENCES op,  -- the op of the forward pass that made the node
  activities    INTEGER NOT NULL        -- what it launched: more than 1 for a CUDA graph
) STRICT;

-- What the name of a kernel says. Only names that say something.
CREATE TABLE kernel_name (
  name_id      INTEGER PRIMARY KEY REFERENCES string,
  tensor_cores INTEGER NOT NULL  -- 1: it uses them, 0: it does not
) STRICT;

-- How many blocks of a kernel fit on a multiprocessor at once, of each shape that was launched; only
-- where the limits of the device are known. docs/schema.md states the rules.
CREATE TABLE occupancy (
  device_id     INTEGER NOT NULL REFERENCES device,
  block_threads INTEGER NOT NULL,
  registers     INTEGER NOT NULL,  -- a thread
  shared_bytes  INTEGER NOT NULL,  -- a block, static and dynamic
  blocks        INTEGER NOT NULL,  -- on a multiprocessor
  warps         INTEGER NOT NULL,  -- the same in warps
  occupancy     REAL NOT NULL,     -- warps of the most that it can hold
  limited_by    TEXT NOT NULL,     -- warps, blocks, registers, shared memory
  PRIMARY KEY (device_id, block_threads, registers, shared_bytes)
) STRICT, WITHOUT ROWID;

-- For how much of a copy's time a kernel ran on its device.
CREATE TABLE copy_overlap (
  copy_id   INTEGER PRIMARY KEY REFERENCES copy,
  kernel_ns INTEGER NOT NULL
) STRICT;

-- For how long a stream did anything, of the time from the first to the last thing its device did.
CREATE TABLE stream_time (
  stream_id INTEGER PRIMARY KEY REFERENCES stream,
  busy_ns   INTEGER NOT NULL,
  span_ns   INTEGER NOT NULL
) STRICT;

DROP VIEW counter;
DROP VIEW op_device_stats;

-- A row for each sample. per_second is how fast the value moved since the sample before: of a
-- total, the figure that says something.
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

-- A row for each op name: what the device work that it launched itself took (that of its child ops is
-- theirs), and how many ops did. Needs an analysis.
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

-- A row for each kernel: what launched it. launched_in: 'op'; 'no op' (its thread was in none);
-- 'unknown' (the call was not recorded). node, forward_op: of a kernel of the backward pass, the
-- autograd node it ran for and the op of the forward pass that made that. Needs an analysis.
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

-- A row for each kernel in each shape that it was launched in by each op. device_share: of the time of
-- all kernels, copies and memsets of the device. op, occupancy, limited_by and tensor_cores need an
-- analysis, and are NULL where they are not known.
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

-- A row for each direction and memory kind of the copies of a stream. gb_per_second: 10^9 bytes.
-- pinned: whether the host's side is (NULL: not known, or it has none). kernel_ns: of total_ns, while a
-- kernel ran on the device; needs an analysis.
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

-- A row for each stream that did anything. idle_ns: of the time from the first to the last thing that
-- its device did; that and busy_ns need an analysis.
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
