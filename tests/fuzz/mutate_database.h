// From the bytes of a fuzzer to a SQLite file that is nearly a good one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace stepscope::testing {

// Writes `base`, the bytes of a database, to `path`, and changes it as `data` says. The lowest bit
// of the first byte chooses how; the rest of it is left to the caller.
//   even: by SQL. Each mutation takes a few bytes: values of a column (numbers at and about limits,
//         other types), rows that go, that come twice, that change places, texts of the schema, the
//         version. What SQLite refuses is left out.
//   odd:  byte by byte: offset (3 bytes) and value (1 byte); then also pages are cut off.
void write_mutated(const std::vector<std::uint8_t>& base, const std::uint8_t* data,
                   std::size_t size, const std::filesystem::path& path);

}  // namespace stepscope::testing
