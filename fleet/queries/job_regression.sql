-- In what a run of a job takes longer than the run before it: a row for each run that has one before it,
-- and category, in nanoseconds per steady step; category 'step' is the whole step.
--   change_ns  the time beyond that of the run before
--   error_ns   how far off change_ns may be by chance (one standard error): a run's steps are cut into
--              20 blocks, and the error follows from the differences between the means of these blocks.
--              Blocks, because neighbouring steps resemble each other.
-- Runs belong to the same job if `job` and the number of ranks are the same. They are ordered by their
-- start.
WITH about AS (
  SELECT run, max(job) AS job, min(wall_start_unix_ns) AS start_unix_ns FROM run GROUP BY run
),
size AS (
  SELECT run, count(DISTINCT rank) AS ranks FROM rank GROUP BY run
),
span AS (
  SELECT run, min(step) AS first_step, max(step) AS last_step FROM step WHERE steady GROUP BY run
),
block AS (
  SELECT
    s.run,
    CAST(floor(20e0 * (s.step - p.first_step) / (p.last_step - p.first_step + 1)) AS INT) AS block,
    avg(s.dur_ns) AS step_ns, avg(s.compute_ns) AS compute_ns, avg(s.input_ns) AS input_ns,
    avg(s.copy_ns) AS copy_ns, avg(s.communication_ns) AS communication_ns, avg(s.sync_ns) AS sync_ns,
    avg(s.launch_ns) AS launch_ns, avg(s.allocation_ns) AS allocation_ns, avg(s.host_ns) AS host_ns,
    avg(s.other_ns) AS other_ns
  FROM step AS s JOIN span AS p ON p.run = s.run
  WHERE s.steady
  GROUP BY
    s.run, CAST(floor(20e0 * (s.step - p.first_step) / (p.last_step - p.first_step + 1)) AS INT)
),
part AS (
  SELECT run, 'step' AS category, step_ns AS ns FROM block
  UNION ALL SELECT run, 'compute', compute_ns FROM block
  UNION ALL SELECT run, 'input', input_ns FROM block
  UNION ALL SELECT run, 'copy', copy_ns FROM block
  UNION ALL SELECT run, 'communication', communication_ns FROM block
  UNION ALL SELECT run, 'sync', sync_ns FROM block
  UNION ALL SELECT run, 'launch', launch_ns FROM block
  UNION ALL SELECT run, 'allocation', allocation_ns FROM block
  UNION ALL SELECT run, 'host', host_ns FROM block
  UNION ALL SELECT run, 'other', other_ns FROM block
),
profile AS (
  SELECT
    run, category, avg(ns) AS ns, coalesce(stddev_samp(ns), 0) / sqrt(count(*)) AS error_ns,
    count(*) AS blocks
  FROM part GROUP BY run, category
),
ordered AS (
  SELECT
    a.job, z.ranks, p.run, a.start_unix_ns, p.category, p.ns, p.error_ns, p.blocks,
    lag(p.run) OVER (PARTITION BY a.job, z.ranks, p.category ORDER BY a.start_unix_ns, p.run)
      AS before_run,
    lag(p.ns) OVER (PARTITION BY a.job, z.ranks, p.category ORDER BY a.start_unix_ns, p.run)
      AS before_ns,
    lag(p.error_ns) OVER (PARTITION BY a.job, z.ranks, p.category ORDER BY a.start_unix_ns, p.run)
      AS before_error_ns,
    lag(p.blocks) OVER (PARTITION BY a.job, z.ranks, p.category ORDER BY a.start_unix_ns, p.run)
      AS before_blocks
  FROM profile AS p JOIN about AS a ON a.run = p.run JOIN size AS z ON z.run = p.run
)
SELECT
  job, ranks, before_run, run, category, before_ns, ns, ns - before_ns AS change_ns,
  sqrt(error_ns * error_ns + before_error_ns * before_error_ns) AS error_ns,
  least(blocks, before_blocks) AS blocks
FROM ordered WHERE before_run IS NOT NULL
ORDER BY job, ranks, start_unix_ns, run, category
