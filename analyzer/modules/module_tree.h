// The modules of a model as trees, by their names: "layers.0.linear" lies in "layers.0".
#pragma once

#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// `modules`, each with the backward time of those inside it added to its own, and with what lies
// between a module and its caller, such as a ModuleList, which nobody calls. A module comes before
// those inside it; of several roots the one that takes the most time comes first.
std::vector<ModuleTime> in_trees(std::vector<ModuleTime> modules);

}  // namespace stepscope
