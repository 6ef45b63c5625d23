// The modules of a model as trees, by their names: "layers.0.linear" lies in "layers.0".
#pragma once

#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// Returns `modules`, with the backward time of the modules inside each added to its own. Adds the
// modules that lie between a module and its caller but are never called, such as a ModuleList. A
// module comes before those inside it; of several roots, the one that takes the most time comes
// first.
std::vector<ModuleTime> in_trees(std::vector<ModuleTime> modules);

}  // namespace stepscope
