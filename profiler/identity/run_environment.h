// The environment variables that affect the speed of a training program, or identify its part of a
// job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// Whether a variable is recorded; docs/schema.md has the list. Variables that may hold a secret
// never are.
bool is_recorded_variable(std::string_view name);

// The recorded variables of a list such as `environ`, as "NAME=VALUE", sorted by name. Long values
// are cut.
std::vector<std::string> recorded_environment(const char* const* variables);

}  // namespace stepscope
