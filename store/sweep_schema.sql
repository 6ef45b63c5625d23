-- The schema of a sweep, version 2: one program at many settings, each measured in its own
-- processes. docs/sweep.md describes it. A sweep is not a recording: it has its own application_id.
--
-- Times are integer nanoseconds (`_ns`), or nanoseconds since 1970 in UTC (`_unix_ns`). An absent
-- value is NULL.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is varied. A parameter is numeric when all of its values are numbers.
CREATE TABLE parameter (
  id   INTEGER PRIMARY KEY,  -- 1, 2, 3, … in the order of the command line
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE parameter_value (
  id           INTEGER PRIMARY KEY,
  parameter_id INTEGER NOT NULL REFERENCES parameter,
  text         TEXT NOT NULL,  -- as inserted into the command
  number       REAL            -- NULL: not a number
) STRICT;

-- A command with its placeholders. A sweep without --variant has one, whose name is empty.
CREATE TABLE variant (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  command TEXT NOT NULL
) STRICT;

-- A setting: a variant with a value of each parameter.
CREATE TABLE cell (
  id         INTEGER PRIMARY KEY,
  variant_id INTEGER NOT NULL REFERENCES variant,
  command    TEXT NOT NULL  -- the command line, its words joined by spaces
) STRICT;

CREATE TABLE cell_value (
  cell_id  INTEGER NOT NULL REFERENCES cell,
  value_id INTEGER NOT NULL REFERENCES parameter_value,
  PRIMARY KEY (cell_id, value_id)
) STRICT, WITHOUT ROWID;

-- One process that ran a cell. A row is added in one transaction once the process has ended, so a
-- sweep that is killed loses only the process that was running.
CREATE TABLE run (
  id                INTEGER PRIMARY KEY,  -- in the order in which they ran
  cell_id           INTEGER NOT NULL REFERENCES cell,
  round             INTEGER NOT NULL,  -- from 1; each round runs every cell once
  started_unix_ns   INTEGER NOT NULL,
  wall_ns           INTEGER NOT NULL,  -- from its start to its end
  outcome           TEXT NOT NULL,     -- ok, out-of-memory, timed-out, crashed, no-steps
  cause             TEXT NOT NULL,     -- a sentence; empty if ok
  exit_code         INTEGER,           -- NULL: a signal ended it
  signal            INTEGER,           -- NULL: no signal ended it
  error_tail        TEXT NOT NULL,     -- the end of its standard error
  torch_version     TEXT NOT NULL,     -- may be empty
  marker            TEXT NOT NULL,     -- how its steps were found; empty: no steps
  samples_per_step  REAL,              -- NULL: not known
  input_seen        INTEGER NOT NULL,  -- 1: its input waits are known
  lost_events       INTEGER NOT NULL,
  peak_rss_bytes    INTEGER NOT NULL,  -- the most memory that its largest process held
  peak_address_bytes INTEGER,          -- its largest address space, what a memory limit counts
  available_bytes   INTEGER,           -- available on the machine just before it started
  minor_faults      INTEGER NOT NULL,  -- of all its processes, from start to end
  major_faults      INTEGER NOT NULL,
  cpu_user_ns       INTEGER NOT NULL,
  cpu_system_ns     INTEGER NOT NULL,
  loop_ns           INTEGER,           -- of its steady steps, from the first to the last
  loop_minor_faults REAL,              -- in that time
  loop_major_faults REAL,
  loop_pressure_ns  REAL,              -- in that time some task on the machine waited for memory
  trains            INTEGER            -- 1: its steps train; 0: calls; NULL: no steps, or version 1
) STRICT;

-- Every step of every run; for inference, every call.
CREATE TABLE step (
  run_id   INTEGER NOT NULL REFERENCES run,
  number   INTEGER NOT NULL,
  dur_ns   INTEGER NOT NULL,
  input_ns INTEGER,           -- part of dur_ns spent waiting for input; NULL: unknown
  steady   INTEGER NOT NULL,  -- 0: warm-up, not part of any figure
  PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;

-- Views. --------------------------------------------------------------------------------------

-- A cell by name: 'batch=8 length=64'.
CREATE VIEW setting AS
SELECT cell.id AS cell_id, variant.name AS variant,
  group_concat(parameter.name || '=' || parameter_value.text, ' ') AS setting, cell.command
FROM cell JOIN variant ON variant.id = variant_id
LEFT JOIN cell_value ON cell_value.cell_id = cell.id
LEFT JOIN parameter_value ON parameter_value.id = value_id
LEFT JOIN parameter ON parameter.id = parameter_id
GROUP BY cell.id;

-- A cell is unavailable (outcome other than ok) if any of its runs is.
CREATE VIEW cell_outcome AS
SELECT cell.id AS cell_id, count(run.id) AS runs,
  CASE WHEN count(run.id) = 0 THEN 'not run'
    ELSE coalesce(max(CASE WHEN outcome != 'ok' THEN outcome END), 'ok') END AS outcome,
  coalesce(max(CASE WHEN outcome != 'ok' THEN cause END), '') AS cause
FROM cell LEFT JOIN run ON run.cell_id = cell.id GROUP BY cell.id;

-- The figures of each available cell, over the steady steps of all its runs.
CREATE VIEW cell_stats AS
WITH ranked AS (
  SELECT cell_id, dur_ns, input_ns,
    row_number() OVER (PARTITION BY cell_id ORDER BY dur_ns) AS place,
    count(*) OVER (PARTITION BY cell_id) AS steps
  FROM step JOIN run ON run.id = run_id WHERE steady AND outcome = 'ok'),
means AS (  -- each process has the same weight
  SELECT cell_id, avg(ns) AS mean_ns FROM (
    SELECT cell_id, avg(dur_ns) AS ns FROM step JOIN run ON run.id = run_id
    WHERE steady AND outcome = 'ok' GROUP BY run_id) GROUP BY cell_id),
figures AS (
  SELECT cell_id, steps,
    max(CASE WHEN place = (steps + 1) / 2 THEN dur_ns END) AS p50_ns,
    max(CASE WHEN place = (99 * steps + 99) / 100 THEN dur_ns END) AS p99_ns,
    sum(input_ns) * 1.0 / sum(dur_ns) AS input_share
  FROM ranked GROUP BY cell_id),
runs AS (
  SELECT cell_id, count(*) AS runs, avg(samples_per_step) AS samples_per_step,
    max(peak_rss_bytes) AS peak_rss_bytes, avg(minor_faults) AS minor_faults,
    avg(major_faults) AS major_faults, sum(loop_pressure_ns) / sum(loop_ns) AS pressure_share
  FROM run WHERE outcome = 'ok' GROUP BY cell_id)
SELECT setting.cell_id, variant, setting, runs.runs, steps, mean_ns, p50_ns, p99_ns, samples_per_step,
  1e9 * samples_per_step / mean_ns AS samples_per_second, input_share, peak_rss_bytes, minor_faults,
  major_faults, pressure_share
FROM setting JOIN cell_outcome USING (cell_id) JOIN means USING (cell_id)
JOIN figures USING (cell_id) JOIN runs USING (cell_id)
WHERE cell_outcome.outcome = 'ok';
