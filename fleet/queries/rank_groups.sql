-- In which place of its parallel groups each rank is, and which GPU it has: a row for each run and rank.
SELECT run, rank, dp_rank, pp_rank, tp_rank, gpu_uuid FROM rank ORDER BY run, rank
