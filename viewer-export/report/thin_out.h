// Reduces the points of a curve and keeps its peaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stepscope {

// The indexes of at most `most` of `values`, in order: the smallest and the largest of each
// stretch, since the extremes of such a curve matter most.
std::vector<std::size_t> thin_out(std::span<const std::int64_t> values, std::size_t most);

}  // namespace stepscope
