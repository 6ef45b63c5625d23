// Names of ops for people who do not know libtorch's kernels.
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// "dropout" for "aten::bernoulli_", "matrix product" for "aten::addmm"; "" if the name says it or
// the op is unknown.
std::string_view op_meaning(std::string_view name);

// "aten::bernoulli_ (dropout)", or the name alone.
std::string with_meaning(const std::string& name);

}  // namespace stepscope
