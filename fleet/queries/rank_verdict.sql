-- What bounds each rank of a run, as the analysis of its store says: a row for each run and rank. If
-- several devices work for a rank, the row is that of the largest share.
SELECT v.run, v.rank, v.kind, v.degree, v.share, v.confidence
FROM (
  SELECT *, row_number() OVER (PARTITION BY run, rank ORDER BY share DESC, kind) AS place
  FROM verdict
) AS v
WHERE v.place = 1 ORDER BY v.run, v.rank
