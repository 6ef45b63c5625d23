-- Which ranks make the others wait, and what that costs: a row for each run and rank.
--
-- Ranks are compared with each other at the same step, by its number, so their clocks may differ.
--   own_ns     what a rank does by itself before it can join the others: input, copies, launching,
--              allocation, host, other scopes
--   late_ns    own_ns beyond the usual rank's (the median; with fewer than four ranks the least)
--   slow_ns    compute beyond the usual rank's. If waiting for a late rank shows inside the backward
--              pass, it shows on most ranks, so the median contains it too; with fewer than four ranks,
--              the part that the lateness of others explains is subtracted
--   excess_ns  late_ns + slow_ns: what this rank, by itself, adds to a step of everyone
-- Only steady steps that every rank of the run has. Times are means per step.
WITH counted AS (
  SELECT run, count(DISTINCT rank) AS ranks FROM rank GROUP BY run
),
own AS (
  SELECT
    s.run, s.host, s.rank, s.step, s.dur_ns, s.compute_ns, s.input_ns,
    s.input_ns + s.copy_ns + s.launch_ns + s.allocation_ns + s.host_ns + s.other_ns AS own_ns
  FROM step AS s WHERE s.steady
),
usual AS (
  SELECT
    o.run, o.step,
    CASE WHEN count(*) < 4 THEN min(o.own_ns)
      ELSE percentile_cont(0.5) WITHIN GROUP (ORDER BY o.own_ns) END AS own_ns,
    CASE WHEN count(*) < 4 THEN min(o.compute_ns)
      ELSE percentile_cont(0.5) WITHIN GROUP (ORDER BY o.compute_ns) END AS compute_ns,
    CASE WHEN count(*) < 4 THEN max(o.own_ns) END AS latest_ns
  FROM own AS o JOIN counted AS c ON c.run = o.run
  GROUP BY o.run, o.step, c.ranks
  HAVING count(*) = c.ranks
),
excess AS (
  SELECT
    o.run, o.host, o.rank, o.step, o.dur_ns, o.input_ns,
    greatest(o.own_ns - u.own_ns, 0) AS late_ns,
    greatest(o.compute_ns - u.compute_ns - coalesce(u.latest_ns - o.own_ns, 0), 0) AS slow_ns
  FROM own AS o JOIN usual AS u ON u.run = o.run AND u.step = o.step
)
SELECT
  run, host, rank, count(*) AS steps, avg(dur_ns) AS step_ns, avg(input_ns) AS input_ns,
  avg(late_ns) AS late_ns, avg(slow_ns) AS slow_ns, avg(late_ns + slow_ns) AS excess_ns,
  sum(dur_ns) AS total_ns
FROM excess GROUP BY run, host, rank ORDER BY run, rank
