-- How long a rank's own work and its compute took over the run: a row for each run, rank and block of
-- steps. block: 0 to 99, equal numbers of steps.
WITH last AS (
  SELECT run, min(step) AS first_step, max(step) AS last_step FROM step GROUP BY run
),
own AS (
  SELECT
    s.run, s.rank, s.step,
    CAST(floor(100e0 * (s.step - l.first_step) / (l.last_step - l.first_step + 1)) AS INT) AS block,
    s.dur_ns - s.communication_ns - s.sync_ns - s.compute_ns AS own_ns, s.compute_ns
  FROM step AS s JOIN last AS l ON l.run = s.run WHERE s.steady
)
SELECT
  run, rank, block, min(step) AS first_step, avg(own_ns) AS own_ns, avg(compute_ns) AS compute_ns
FROM own GROUP BY run, rank, block ORDER BY run, rank, block
