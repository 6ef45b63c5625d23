-- What each run wastes: one row per run. hours are the rank-hours of its steps; lost_input_hours and
-- lost_launch_hours are the parts of them spent waiting for input, or for work to be launched.
SELECT
  s.run, count(DISTINCT s.rank) AS ranks, count(DISTINCT s.host) AS hosts,
  max(s.step) AS last_step, sum(s.dur_ns) / 3.6e12 AS hours,
  sum(s.input_ns) / 3.6e12 AS lost_input_hours, sum(s.launch_ns) / 3.6e12 AS lost_launch_hours,
  coalesce(1e0 * sum(s.input_ns) / nullif(sum(s.dur_ns), 0), 0e0) AS input_share,
  min(s.start_unix_ns) AS start_unix_ns
FROM step AS s GROUP BY s.run ORDER BY s.run
