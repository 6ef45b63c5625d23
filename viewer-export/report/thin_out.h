// Fewer points of a curve, with its peaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stepscope {

// The indexes of at most `most` of `values`, in order: the smallest and the largest of each
// stretch, since what is looked for in such a curve are its extremes.
std::vector<std::size_t> thin_out(std::span<const std::int64_t> values, std::size_t most);

}  // namespace stepscope
