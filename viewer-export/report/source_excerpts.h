// The lines of source around the frames of a flame graph, as far as their files exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "viewer-export/report/report_names.h"

namespace stepscope {

struct SourceLine {
  std::string file;
  std::int64_t line = 0;
};

struct ExcerptLimits {
  std::int64_t around = 3;                // lines above and below
  std::size_t bytes = 200'000;            // in all
  std::uintmax_t file_bytes = 4'000'000;  // a larger file is not read
};

// [{"file", "changed": after `recorded_ns`, "first": the number of the first line, "lines"}], texts
// as numbers of `names`, by file and line. `wanted`: the most important first, because later ones
// may exceed the limits. A store may name any file, so only absolute paths of regular files that
// end with .py are read. `recorded_ns`: since 1970, 0 is unknown.
nlohmann::ordered_json source_excerpts(const std::vector<SourceLine>& wanted,
                                       std::int64_t recorded_ns, const ExcerptLimits& limits,
                                       ReportNames& names);

}  // namespace stepscope
