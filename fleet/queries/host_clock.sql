-- How far apart the clocks of hosts are: a row for each run and host with its wall clock at the start of
-- the first step that all ranks of the run have. Ranks are in the same step at the same time, so the
-- clocks explain all of the difference except for a fraction of a step.
WITH began AS (
  SELECT run, rank, min(step) AS step FROM step GROUP BY run, rank
),
common AS (
  SELECT run, max(step) AS step FROM began GROUP BY run
)
SELECT s.run, s.host, min(s.start_unix_ns) AS start_unix_ns
FROM step AS s JOIN common AS c ON c.run = s.run AND c.step = s.step
GROUP BY s.run, s.host ORDER BY s.run, s.host
