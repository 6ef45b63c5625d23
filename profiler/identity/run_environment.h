// The environment variables that change how fast a training program runs, or which part of a job it
// is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// Whether a variable is recorded; docs/schema.md has the list. Never one that may hold a secret.
bool is_recorded_variable(std::string_view name);

// Of a list such as `environ`: the recorded ones as "NAME=VALUE", by name. Long values are cut.
std::vector<std::string> recorded_environment(const char* const* variables);

}  // namespace stepscope
