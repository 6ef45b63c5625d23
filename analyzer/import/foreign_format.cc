#include "analyzer/import/foreign_format.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

#include "analyzer/import/byte_source.h"
#include "store/database_file.h"
#include "store/schema.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

struct Format {
  std::string_view start;  // of the file
  std::string_view text;
};
constexpr std::array<Format, 7> kFormats = {{
    {"PK\x03\x04"sv, "a zip archive; unpack it and give the trace in it"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed by xz; unpack it first (only gzip is read as it is)"},
    {"BZh"sv, "compressed by bzip2; unpack it first (only gzip is read as it is)"},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd; unpack it first (only gzip is read as it is)"},
    {"\xff\xfe"sv, "UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff"sv, "UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8"},
    {"\x7f"
     "ELF"sv,
     "a program; `stepscope run` records it"},
}};

}  // namespace

std::string_view foreign_format(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  if (path.extension() == ".nsys-rep" || path.extension() == ".qdrep") {
    return "a report of Nsight Systems; export it first: nsys export --type sqlite";
  }
  const Result<std::string> head = first_bytes(path, kDatabaseHeader);
  if (!head.ok()) return {};
  if (application_id(*head) == kApplicationId)
    return "a recording of Stepscope already; `stepscope analyze` reads it";
  const auto* const known = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& each) {
    return head->starts_with(each.start);
  });
  return known == kFormats.end() ? std::string_view() : known->text;
}

}  // namespace stepscope
