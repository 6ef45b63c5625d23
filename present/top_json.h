// The machine-readable contract "stepscope.live/1": docs/cli.md lists the keys.
#pragma once

#include <string>

#include "analyzer/live/live_run.h"

namespace stepscope {

// One JSON document on one line, without a newline: so that frames can be read line by line.
std::string top_json(const LiveFrame& frame);

}  // namespace stepscope
