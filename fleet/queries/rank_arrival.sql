-- How late each rank arrives at the last collective of a step: a row for each run and rank.
--   late_ns     after the first rank that arrives, in the mean
--   last_share  the share of these steps in which it is the last one
-- The times of each node are corrected by the offset of its clock, as node_clock.sql finds it.
WITH member AS (
  SELECT run, rank, node, coalesce(pp_rank, -1) AS pp, coalesce(tp_rank, -1) AS tp FROM rank
),
reference AS (
  SELECT run, min_by(node, rank) AS node FROM rank GROUP BY run
),
span AS (
  SELECT run, min(step) AS first_step, max(step) AS last_step FROM step
  WHERE collective_end_unix_ns IS NOT NULL GROUP BY run
),
met AS (
  SELECT
    s.run, s.rank, m.node, m.pp, m.tp, s.step, s.steady,
    s.collective_start_unix_ns AS start_unix_ns, s.collective_end_unix_ns AS end_unix_ns,
    CAST(floor(20e0 * (s.step - p.first_step) / (p.last_step - p.first_step + 1)) AS INT) AS block
  FROM step AS s
  JOIN member AS m ON m.run = s.run AND m.rank = s.rank
  JOIN span AS p ON p.run = s.run
  WHERE s.collective_end_unix_ns IS NOT NULL
),
ended AS (
  SELECT run, node, pp, tp, step, block, min(end_unix_ns) AS end_unix_ns
  FROM met GROUP BY run, node, pp, tp, step, block
),
clock AS (
  SELECT
    e.run, e.node, e.block,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY e.end_unix_ns - r.end_unix_ns) AS offset_ns
  FROM ended AS e
  JOIN reference AS f ON f.run = e.run
  JOIN ended AS r
    ON r.run = e.run AND r.node = f.node AND r.step = e.step AND r.pp = e.pp AND r.tp = e.tp
  GROUP BY e.run, e.node, e.block
),
arrived AS (
  SELECT
    m.run, m.rank, m.pp, m.tp, m.step,
    m.start_unix_ns - CAST(round(c.offset_ns) AS BIGINT) AS unix_ns
  FROM met AS m JOIN clock AS c ON c.run = m.run AND c.node = m.node AND c.block = m.block
  WHERE m.steady
),
ends AS (
  SELECT run, pp, tp, step, min(unix_ns) AS first_unix_ns, max(unix_ns) AS last_unix_ns
  FROM arrived GROUP BY run, pp, tp, step HAVING count(*) > 1
)
SELECT
  a.run, a.rank, count(*) AS steps, avg(a.unix_ns - e.first_unix_ns) AS late_ns,
  avg(CASE WHEN a.unix_ns = e.last_unix_ns THEN 1e0 ELSE 0e0 END) AS last_share
FROM arrived AS a
JOIN ends AS e ON e.run = a.run AND e.pp = a.pp AND e.tp = a.tp AND e.step = a.step
GROUP BY a.run, a.rank ORDER BY a.run, a.rank
