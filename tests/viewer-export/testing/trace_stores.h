// Stores that the tests and benchmarks of the export are run on.
#pragma once

#include <cstdint>
#include <filesystem>

#include "store/status.h"

namespace stepscope::testing {

// A training run with one of everything that is hard to draw: nested ops, some with equal starts;
// ops without a length; asynchronous ops that overlap others; overlapping phases; backward nodes on
// a second thread, tied to their forward ops; steps with a verdict; losses; and, as the names of
// ops, scopes, threads and the process, texts that have broken viewers.
Status make_hostile_store(const std::filesystem::path& path);

// `ops` ops on three threads, in steps of a thousand, for measuring.
Status make_large_store(const std::filesystem::path& path, std::int64_t ops);

}  // namespace stepscope::testing
