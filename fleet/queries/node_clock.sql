-- How far the clocks of nodes are apart, from collectives: a row for each run, node and block of steps (0
-- to 19, equal numbers of steps). No rank leaves such a collective before the last one has arrived, so
-- it ends on all ranks together, except for the time that the last message takes.
--   offset_ns     by how much the node's clock is ahead of that of the node with the lowest rank
--   low_ns, high_ns  the 10th and 90th percentile of what single collectives say
-- Of a node, the rank counts that leaves first. Ranks are compared if they have the same place in their
-- pipeline and tensor parallel groups, because they meet in the same collectives.
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
ended AS (
  SELECT s.run, m.node, m.pp, m.tp, s.step, min(s.collective_end_unix_ns) AS end_unix_ns
  FROM step AS s JOIN member AS m ON m.run = s.run AND m.rank = s.rank
  WHERE s.collective_end_unix_ns IS NOT NULL GROUP BY s.run, m.node, m.pp, m.tp, s.step
),
apart AS (
  SELECT
    e.run, e.node,
    CAST(floor(20e0 * (e.step - p.first_step) / (p.last_step - p.first_step + 1)) AS INT) AS block,
    e.end_unix_ns - r.end_unix_ns AS ns
  FROM ended AS e
  JOIN reference AS f ON f.run = e.run
  JOIN ended AS r
    ON r.run = e.run AND r.node = f.node AND r.step = e.step AND r.pp = e.pp AND r.tp = e.tp
  JOIN span AS p ON p.run = e.run
)
SELECT
  run, node, block, count(*) AS collectives,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY ns) AS offset_ns,
  percentile_cont(0.1) WITHIN GROUP (ORDER BY ns) AS low_ns,
  percentile_cont(0.9) WITHIN GROUP (ORDER BY ns) AS high_ns
FROM apart GROUP BY run, node, block ORDER BY run, node, block
