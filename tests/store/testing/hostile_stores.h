// Stores that no Stepscope made: damaged, or made to do harm. For the tests of whoever opens one.
#pragma once

#include <filesystem>
#include <span>

namespace stepscope::testing {

struct HostileStore {
  const char* name;  // of a test
  const char* sql;   // what is done to a good store
  const char* says;  // what the one line about it holds
};

// Each must be refused by whatever reads all that was recorded.
std::span<const HostileStore> hostile_stores();

// A good store with a device, samples and a death in it, analysed; then `sql` is run on it.
void make_hostile_store(const std::filesystem::path& path, const char* sql);

}  // namespace stepscope::testing
