#include "viewer-export/report/source_excerpts.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "viewer-export/report/report.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

struct SourceFile {
  bool changed = false;
  std::vector<std::string> lines;
  std::set<std::int64_t> shown;  // from 1
};

SourceFile read_source(const std::string& path, std::int64_t recorded_ns,
                       const ExcerptLimits& limits) {
  SourceFile source;
  struct stat facts = {};
  if (!path.starts_with('/') || !path.ends_with(".py") || ::stat(path.c_str(), &facts) != 0 ||
      !S_ISREG(facts.st_mode) || static_cast<std::uintmax_t>(facts.st_size) > limits.file_bytes) {
    return source;
  }
  const std::int64_t changed_ns = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
  source.changed = recorded_ns > 0 && changed_ns > recorded_ns;
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    source.lines.push_back(std::move(line));
  }
  return source;
}

// False once there is no more room.
bool show(SourceFile& source, std::int64_t line, const ExcerptLimits& limits, std::size_t& room) {
  const auto last = static_cast<std::int64_t>(source.lines.size());
  if (line < 1 || line > last) return true;
  for (std::int64_t i = std::max<std::int64_t>(line - limits.around, 1);
       i <= std::min(line + limits.around, last); ++i) {
    if (source.shown.contains(i)) continue;
    const std::size_t size =
        std::min(source.lines[static_cast<std::size_t>(i) - 1].size(), kReportNameBytes) + 1;
    if (size > room) return false;
    room -= size;
    source.shown.insert(i);
  }
  return true;
}

void add_excerpts(const std::string& path, const SourceFile& source, ReportNames& names,
                  Json& excerpts) {
  std::int64_t last = 0;
  for (const std::int64_t line : source.shown) {
    if (last == 0 || line > last + 1) {
      excerpts.push_back({{"file", names.number(path)},
                          {"changed", source.changed},
                          {"first", line},
                          {"lines", Json::array()}});
    }
    excerpts.back()["lines"].push_back(
        names.number(source.lines[static_cast<std::size_t>(line) - 1]));
    last = line;
  }
}

}  // namespace

Json source_excerpts(const std::vector<SourceLine>& wanted, std::int64_t recorded_ns,
                     const ExcerptLimits& limits, ReportNames& names) {
  std::map<std::string, SourceFile> sources;
  std::size_t room = limits.bytes;
  for (const SourceLine& line : wanted) {
    const auto [entry, is_new] = sources.try_emplace(line.file);
    if (is_new) entry->second = read_source(line.file, recorded_ns, limits);
    if (!show(entry->second, line.line, limits, room)) break;
  }
  Json excerpts = Json::array();
  for (const auto& [path, source] : sources) add_excerpts(path, source, names, excerpts);
  return excerpts;
}

}  // namespace stepscope
