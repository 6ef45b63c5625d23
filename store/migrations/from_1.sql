-- Version 1 to 2: how processes ended, samples of counters, whose child and which rank a process is.
-- What was never recorded is NULL or empty.

ALTER TABLE process ADD COLUMN parent_pid INTEGER;
ALTER TABLE process ADD COLUMN rank INTEGER;

-- How a process ended. A process without a row was still running when the recording ended.
CREATE TABLE process_end (
  process_id    INTEGER PRIMARY KEY REFERENCES process,
  how           TEXT NOT NULL,     -- exit; signal (it was killed); replaced (by exec)
  code          INTEGER,           -- exit code or signal; NULL: not known
  at_ns         INTEGER NOT NULL,
  step          INTEGER,           -- that its loop was in; NULL: none was seen
  out_of_memory INTEGER NOT NULL   -- 1: the kernel killed it for memory
) STRICT;

-- Ops that had begun and not ended when their process died: what it died in.
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
  value      INTEGER NOT NULL
) STRICT;

DROP VIEW timeline;

-- Everything that has a name and a time, track by track ('step', 'phase', 'op'; 'unfinished': an op that
-- its process died in); add your own order.
CREATE VIEW timeline AS
SELECT
  process.name AS process, thread.name AS thread, e.track, e.name, e.start_ns, e.dur_ns, e.thread_id
FROM (
  SELECT 'step' AS track, 'step ' || number AS name, start_ns, dur_ns, thread_id FROM step
  UNION ALL
  SELECT 'phase', coalesce(phase_kind.name || ': ' || string.text, phase_kind.name),
    start_ns, dur_ns, thread_id
  FROM phase LEFT JOIN phase_kind ON phase_kind.id = phase.kind
  LEFT JOIN string ON string.id = phase.name_id
  UNION ALL
  SELECT 'op', string.text, start_ns, dur_ns, thread_id
  FROM op LEFT JOIN string ON string.id = op.name_id
  UNION ALL
  SELECT 'unfinished', string.text, start_ns, process_end.at_ns - start_ns, thread_id
  FROM unfinished_op LEFT JOIN string ON string.id = unfinished_op.name_id
  LEFT JOIN thread ON thread.id = thread_id
  LEFT JOIN process_end ON process_end.process_id = thread.process_id
) AS e
LEFT JOIN thread ON thread.id = e.thread_id
LEFT JOIN process ON process.id = thread.process_id;

-- A row for each process that ended and each of its threads that was in an op then (one row when
-- none was): how it ended, in which step and op, and what memory it held when last asked.
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

-- A row for each sample. per_second is how fast the value moved since the sample before: of a
-- total, the figure that says something.
CREATE VIEW counter AS
SELECT
  coalesce(process.name, 'machine') AS process, process.pid, string.text AS counter,
  s.at_ns, s.value,
  1e9 * (s.value - s.value_before) / nullif(s.at_ns - s.at_before, 0) AS per_second, s.process_id
FROM (
  SELECT
    process_id, name_id, at_ns, value, lag(value) OVER earlier AS value_before,
    lag(at_ns) OVER earlier AS at_before
  FROM sample WINDOW earlier AS (PARTITION BY process_id, name_id ORDER BY at_ns)
) AS s
JOIN string ON string.id = s.name_id
LEFT JOIN process ON process.id = s.process_id;

INSERT INTO phase_kind VALUES (9, 'sampler');
