-- Which ranks are slower than the others of their pipeline stage: a row for each run and rank whose stage
-- is known. As rank_cost.sql, but the usual rank is that of the stage, because stages do different work.
--   late_ns    what a rank does by itself, beyond the usual rank's of its stage
--   slow_ns    compute beyond the usual rank's of its stage
-- Only steady steps that every rank of the stage has. Times are means per step.
WITH member AS (
  SELECT run, rank, pp_rank, count(*) OVER (PARTITION BY run, pp_rank) AS ranks
  FROM rank WHERE pp_rank IS NOT NULL
),
own AS (
  SELECT
    s.run, s.host, s.rank, m.pp_rank, m.ranks, s.step, s.dur_ns, s.compute_ns, s.input_ns,
    s.input_ns + s.copy_ns + s.launch_ns + s.allocation_ns + s.host_ns + s.other_ns AS own_ns
  FROM step AS s JOIN member AS m ON m.run = s.run AND m.rank = s.rank WHERE s.steady
),
usual AS (
  SELECT
    run, pp_rank, step,
    CASE WHEN count(*) < 4 THEN min(own_ns)
      ELSE percentile_cont(0.5) WITHIN GROUP (ORDER BY own_ns) END AS own_ns,
    CASE WHEN count(*) < 4 THEN min(compute_ns)
      ELSE percentile_cont(0.5) WITHIN GROUP (ORDER BY compute_ns) END AS compute_ns
  FROM own GROUP BY run, pp_rank, ranks, step HAVING count(*) = ranks
),
excess AS (
  SELECT
    o.run, o.host, o.rank, o.pp_rank, o.dur_ns, o.input_ns,
    greatest(o.own_ns - u.own_ns, 0) AS late_ns,
    greatest(o.compute_ns - u.compute_ns, 0) AS slow_ns
  FROM own AS o JOIN usual AS u ON u.run = o.run AND u.pp_rank = o.pp_rank AND u.step = o.step
)
SELECT
  run, host, rank, pp_rank, count(*) AS steps, avg(dur_ns) AS step_ns, avg(input_ns) AS input_ns,
  avg(late_ns) AS late_ns, avg(slow_ns) AS slow_ns, avg(late_ns + slow_ns) AS excess_ns,
  sum(dur_ns) AS total_ns
FROM excess GROUP BY run, host, rank, pp_rank ORDER BY run, rank
