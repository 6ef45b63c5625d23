// What the verbs do with a store, one after the other, as library calls: for fuzz targets that make
// stores. Promise: each ends with a result or an error, whatever the store holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/require.h"

namespace stepscope::testing {

using fuzz::require;

// analyze with its page and its JSON, and export; those of `which` besides, so that most inputs
// take little time: bit 0 top, bit 1 what-if, bit 2 report, compare with itself, and the analysis
// written back and read.
void run_verbs(const std::filesystem::path& store, unsigned which);

// A file for this process alone, in memory; `name` tells several apart. Nothing is there yet.
std::filesystem::path memory_file(const std::string& name);

std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, const std::uint8_t* data, std::size_t size);

}  // namespace stepscope::testing
