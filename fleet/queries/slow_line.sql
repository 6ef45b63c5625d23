-- The lines that took a rank's time in a category: the rows of the lake's `line`, the largest share
-- first.
SELECT run, rank, category, place, file, line, function, share
FROM line ORDER BY run, rank, category, share DESC, file, line
