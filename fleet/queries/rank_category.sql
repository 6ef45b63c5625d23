-- What a rank's own time and compute consist of: a row for each run, rank and category, in nanoseconds
-- per steady step. A rank is slow in the category in which it is furthest above the usual rank.
WITH mean AS (
  SELECT
    run, rank, avg(input_ns) AS input_ns, avg(copy_ns) AS copy_ns, avg(launch_ns) AS launch_ns,
    avg(allocation_ns) AS allocation_ns, avg(host_ns) AS host_ns, avg(other_ns) AS other_ns,
    avg(compute_ns) AS compute_ns
  FROM step WHERE steady GROUP BY run, rank
)
SELECT run, rank, category, ns
FROM (
  SELECT run, rank, 'input' AS category, input_ns AS ns FROM mean
  UNION ALL SELECT run, rank, 'copy', copy_ns FROM mean
  UNION ALL SELECT run, rank, 'launch', launch_ns FROM mean
  UNION ALL SELECT run, rank, 'allocation', allocation_ns FROM mean
  UNION ALL SELECT run, rank, 'host', host_ns FROM mean
  UNION ALL SELECT run, rank, 'other', other_ns FROM mean
  UNION ALL SELECT run, rank, 'compute', compute_ns FROM mean
) AS each_one
ORDER BY run, rank, category
