-- What differences between ranks cost, by category: a row for each run and category, in nanoseconds per
-- steady step.
--   extra_ns   how far the rank that needs the most time for the category is above the mean of all ranks
--              in the same step: the step would be shorter by about this much if all ranks took equally
--              long for the category. With many ranks, chance alone makes this more than 0.
-- Only steps that every rank of the run has.
WITH counted AS (
  SELECT run, count(DISTINCT rank) AS ranks FROM rank GROUP BY run
),
worst AS (
  SELECT
    s.run, s.step,
    max(s.compute_ns) - avg(s.compute_ns) AS compute_ns, max(s.input_ns) - avg(s.input_ns) AS input_ns,
    max(s.copy_ns) - avg(s.copy_ns) AS copy_ns, max(s.launch_ns) - avg(s.launch_ns) AS launch_ns,
    max(s.allocation_ns) - avg(s.allocation_ns) AS allocation_ns,
    max(s.host_ns) - avg(s.host_ns) AS host_ns, max(s.other_ns) - avg(s.other_ns) AS other_ns
  FROM step AS s JOIN counted AS c ON c.run = s.run
  WHERE s.steady GROUP BY s.run, s.step, c.ranks HAVING count(*) = c.ranks
),
mean AS (
  SELECT
    run, count(*) AS steps, avg(compute_ns) AS compute_ns, avg(input_ns) AS input_ns,
    avg(copy_ns) AS copy_ns, avg(launch_ns) AS launch_ns, avg(allocation_ns) AS allocation_ns,
    avg(host_ns) AS host_ns, avg(other_ns) AS other_ns
  FROM worst GROUP BY run
)
SELECT run, category, extra_ns, steps
FROM (
  SELECT run, 'compute' AS category, compute_ns AS extra_ns, steps FROM mean
  UNION ALL SELECT run, 'input', input_ns, steps FROM mean
  UNION ALL SELECT run, 'copy', copy_ns, steps FROM mean
  UNION ALL SELECT run, 'launch', launch_ns, steps FROM mean
  UNION ALL SELECT run, 'allocation', allocation_ns, steps FROM mean
  UNION ALL SELECT run, 'host', host_ns, steps FROM mean
  UNION ALL SELECT run, 'other', other_ns, steps FROM mean
) AS each_one
ORDER BY run, category
