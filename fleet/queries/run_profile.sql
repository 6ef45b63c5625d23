-- How long a run takes for a step, and for each category of it: a row for each run and category, in
-- nanoseconds per steady step; category 'step' is the whole step.
--   error_ns   how far off ns may be by chance (one standard error): a run's steps are cut into 20
--              blocks, and the error follows from the differences between the means of these blocks.
--              Blocks, because neighbouring steps resemble each other. Each block counts by its
--              number of steps.
-- Two runs differ by the difference of their ns; its error is the root of the sum of the squares of
-- their errors.
WITH span AS (
  SELECT run, min(step) AS first_step, max(step) AS last_step FROM step WHERE steady GROUP BY run
),
block AS (
  SELECT
    s.run,
    CAST(floor(20e0 * (s.step - p.first_step) / (p.last_step - p.first_step + 1)) AS INT) AS block,
    count(*) AS steps,
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
  SELECT run, 'step' AS category, steps, step_ns AS ns FROM block
  UNION ALL SELECT run, 'compute', steps, compute_ns FROM block
  UNION ALL SELECT run, 'input', steps, input_ns FROM block
  UNION ALL SELECT run, 'copy', steps, copy_ns FROM block
  UNION ALL SELECT run, 'communication', steps, communication_ns FROM block
  UNION ALL SELECT run, 'sync', steps, sync_ns FROM block
  UNION ALL SELECT run, 'launch', steps, launch_ns FROM block
  UNION ALL SELECT run, 'allocation', steps, allocation_ns FROM block
  UNION ALL SELECT run, 'host', steps, host_ns FROM block
  UNION ALL SELECT run, 'other', steps, other_ns FROM block
),
mean AS (
  SELECT
    run, category, sum(steps * ns) / sum(steps) AS ns, sum(steps) AS steps, count(*) AS blocks
  FROM part GROUP BY run, category
)
SELECT
  m.run, m.category, m.ns,
  coalesce(
    sqrt(
      m.blocks / nullif(m.blocks - 1e0, 0)
      * sum(power(1e0 * p.steps / m.steps * (p.ns - m.ns), 2))
    ), 0
  ) AS error_ns,
  m.blocks
FROM mean AS m JOIN part AS p ON p.run = m.run AND p.category = m.category
GROUP BY m.run, m.category, m.ns, m.steps, m.blocks ORDER BY m.run, m.category
