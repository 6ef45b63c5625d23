// What every trace promises its viewers.
#pragma once

#include <string>

namespace stepscope::fuzz {

// Ends the program with a message unless `text` is JSON, the slices of each track nest, and each
// arrow has two ends, on a slice each.
void check_trace(const std::string& text);

}  // namespace stepscope::fuzz
