-- The line that a rank's time in a category mostly went to: the rows of the lake's `line`, the largest
-- share first.
SELECT run, rank, category, place, file, line, function, share
FROM line ORDER BY run, rank, category, share DESC, file, line
