// A run of a lake in place of a store: `stepscope analyze LAKE/run=ID` and `stepscope compare`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope::cli {

struct LakeRun {
  std::string lake;  // its folder
  std::string run;   // as in the name of its folders; "": the whole lake
};

// Nothing if `path` names neither a lake nor a run in one. LAKE/run=ID names a run although a lake
// has one folder for each table and run; LAKE/step/run=ID names the same run.
std::optional<LakeRun> lake_run_of(const std::string& path);

// `failure`, with which `path` could not be opened as a store, or a better one if it names a run of
// a lake: most verbs need the store.
Status failure_to_open(const std::string& path, const Status& failure);

// Becomes `stepscope fleet WORDS…`. Returns an exit code only if that is not possible.
int become_fleet(const std::vector<std::string>& words);

}  // namespace stepscope::cli
