// A small export of Nsight Systems, as SQL: one of each thing that it has.
#pragma once

#include <string>
#include <utility>

namespace stepscope::testing {

// $T and $P stand for the thread and the process: with_global_ids().
inline constexpr const char* kNsysReport = R"(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'sgemm'), (3, 'main loop'), (4, 'python');
  CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);
  INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '');
  CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER);
  INSERT INTO TARGET_INFO_GPU VALUES (0, 'H100', 80000000000, 132);
  CREATE TABLE ThreadNames (globalTid INTEGER, nameId INTEGER, priority INTEGER);
  INSERT INTO ThreadNames VALUES ($T, 3, 0);
  CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
  INSERT INTO PROCESSES VALUES ($P, 42, 'python3');
  CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
  INSERT INTO NVTX_EVENTS VALUES (1000, 9000, 59, 'step 1', NULL, $T), (1100, 1900, 59, NULL, 3, $T),
    (2000, 3000, 59, 'aten::mm, seq = 5, op_id = 12', NULL, $T), (2500, NULL, 34, 'mark', NULL, $T),
    (9000, 9500, 60, 'across threads', NULL, $T), (9000, 19000, 59, 'step 2', NULL, $T);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2100, 2200, $T, 7, 1, 0);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
    blockX INTEGER, blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2300, 2900, 0, 1, 13, 7, $P, 2, 2, 5, 6, 7, 8, 9, 10, 64);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (500, 700, 0, 1, 13, 6, $P, 4096, 1, 0, 2), (600, 500, 0, 1, 13, 6, $P, 1, 1, 0, 2);
  CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (3000, 4000, 0, 1, 4294967295, 8, $P, 4);
)";

// A launch of a CUDA graph, without its kernels.
inline constexpr const char* kNsysGraph = R"(
  CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (2400, 2800, 0, 1, 13, 7, $P, 109, 3);
)";

// pid 42, thread 43.
inline std::string with_global_ids(std::string sql) {
  for (const auto& [word, value] : {std::pair("$T", "((1 << 48) | (42 << 24) | 43)"),
                                    std::pair("$P", "((1 << 48) | (42 << 24))")}) {
    for (std::size_t at = 0; (at = sql.find(word, at)) != std::string::npos;) {
      sql.replace(at, 2, value);
    }
  }
  return sql;
}

inline std::string nsys_report_sql() { return with_global_ids(kNsysReport); }

}  // namespace stepscope::testing
