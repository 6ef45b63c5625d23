-- In which steps the ops of a rank were recorded because it was slow (`stepscope run --watch-lake`), and
-- in which store they are: a row for each such rank.
SELECT r.run, r.rank, n.store, r.ops_first_step AS first_step, r.ops_last_step AS last_step
FROM rank AS r JOIN run AS n ON n.run = r.run AND n.node = r.node
WHERE r.ops_first_step IS NOT NULL ORDER BY r.run, r.rank
