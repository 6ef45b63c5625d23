-- What a rank spends more of than the usual rank: a row for each run, rank and category of its own time,
-- in nanoseconds a steady step.
SELECT run, rank, category, avg(ns) AS ns
FROM (
  SELECT run, rank, 'input' AS category, input_ns AS ns FROM step WHERE steady
  UNION ALL SELECT run, rank, 'copy', copy_ns FROM step WHERE steady
  UNION ALL SELECT run, rank, 'launch', launch_ns FROM step WHERE steady
  UNION ALL SELECT run, rank, 'allocation', allocation_ns FROM step WHERE steady
  UNION ALL SELECT run, rank, 'host', host_ns FROM step WHERE steady
  UNION ALL SELECT run, rank, 'other', other_ns FROM step WHERE steady
  UNION ALL SELECT run, rank, 'compute', compute_ns FROM step WHERE steady
) AS each_one
GROUP BY run, rank, category ORDER BY run, rank, category
