-- What is known about each run and node. restarts: how often the launcher restarted the node's
-- processes; the steps are those of the last start.
SELECT
  run, job, job_id, node, node_rank, host, world_size, program, state, restarts, requeues,
  wall_start_unix_ns, store
FROM run ORDER BY run, node
