// `stepscope run --lake DIR`: adds the store to a lake when the program has ended, and pieces of it
// before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/status.h"

namespace stepscope {

// Whether `lake` is not a folder but an address in an object store, such as s3://bucket/lake.
bool is_address(const std::string& lake);

// Analyzes the store unless `analyzed`, and adds it to the lake. Returns "", or a line that says
// why that failed; a failure has no other effect. Gives up after five minutes if the lake does not
// respond.
std::string add_to_lake(const std::string& store, const std::string& lake, bool analyzed);

// Adds a piece of a run (wrap/step_pieces.h). Returns the ranks of this node whose ops are to be
// recorded, because they have been slow for `watch_s` seconds; none if that is 0. Errors: as told
// by the Python part; kUnavailable (it took longer than a minute).
Result<std::vector<std::int64_t>> add_piece_to_lake(const std::string& piece,
                                                    const std::string& lake, double watch_s);

}  // namespace stepscope
