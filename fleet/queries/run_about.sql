-- What is known of each run and node.
SELECT run, job, node, host, world_size, program, state, wall_start_unix_ns, store
FROM run ORDER BY run, node
