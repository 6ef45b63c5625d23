#include "profiler/stacks/python_runtime.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "profiler/channel/owned_fd.h"

namespace stepscope {
namespace {

// More sections than any interpreter has.
constexpr std::size_t kMaxSections = 4096;
constexpr std::size_t kMaxNameBytes = std::size_t{1} << 20;

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// "7f12-7f34 r-xp 00001000 08:01 1234   /usr/bin/python3.11"
struct MapsLine {
  std::uint64_t begin = 0;
  std::uint64_t offset = 0;
  std::string_view path;
};

std::optional<MapsLine> parse_maps_line(std::string_view line) {
  MapsLine parsed;
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  parsed.path = line.substr(slash);
  const char* end = line.data() + line.size();
  if (std::from_chars(line.data(), end, parsed.begin, 16).ec != std::errc()) return std::nullopt;
  std::size_t place = 0;
  for (int word = 0; word < 2 && place != std::string_view::npos; ++word)
    place = line.find(' ', place + 1);
  if (place == std::string_view::npos) return std::nullopt;
  const char* offset = line.data() + place + 1;
  if (std::from_chars(offset, end, parsed.offset, 16).ec != std::errc()) return std::nullopt;
  return parsed;
}

template <typename Value>
bool read_at(const OwnedFd& file, std::uint64_t offset, std::span<Value> to) {
  if (offset > std::uint64_t{1} << 62) return false;
  const auto size = static_cast<ssize_t>(to.size_bytes());
  return pread(file.get(), to.data(), to.size_bytes(), static_cast<off_t>(offset)) == size;
}

struct Elf {
  OwnedFd file;
  Elf64_Ehdr header{};
  std::vector<Elf64_Shdr> sections;
  std::string names;

  bool open(const std::string& path) {
    file = OwnedFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    if (!read_at(file, 0, std::span(&header, 1))) return false;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shnum > kMaxSections || header.e_shstrndx >= header.e_shnum) {
      return false;
    }
    sections.resize(header.e_shnum);
    if (!read_at(file, header.e_shoff, std::span(sections))) return false;
    const Elf64_Shdr& table = sections[header.e_shstrndx];
    if (table.sh_size > kMaxNameBytes) return false;
    names.resize(table.sh_size);
    return read_at(file, table.sh_offset, std::span(names.data(), names.size()));
  }

  // The virtual address of the first byte of the file, according to the file: 0 for a library.
  [[nodiscard]] std::optional<std::uint64_t> first_address() const {
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMaxSections)
      return std::nullopt;
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    if (!read_at(file, header.e_phoff, std::span(segments))) return std::nullopt;
    const auto loaded = std::ranges::find(segments, PT_LOAD, &Elf64_Phdr::p_type);
    if (loaded == segments.end() || loaded->p_offset > loaded->p_vaddr) return std::nullopt;
    return loaded->p_vaddr - loaded->p_offset;
  }
};

std::string text_of(PythonVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

}  // namespace

std::vector<MappedFile> python_files(std::string_view maps) {
  std::vector<MappedFile> files;
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    const auto line = parse_maps_line(maps.substr(0, end));
    maps.remove_prefix(std::min(end + 1, maps.size()));
    if (!line || line->offset != 0) continue;
    const std::string_view name = file_name(line->path);
    if (!name.starts_with("python") && !name.starts_with("libpython")) continue;
    const auto same = [&](const MappedFile& file) { return file.path == line->path; };
    if (std::ranges::none_of(files, same)) files.push_back({std::string(line->path), line->begin});
  }
  return files;
}

std::optional<PythonVersion> python_version_of(std::string_view path) {
  const std::string_view name = file_name(path);
  const std::size_t place = name.find("python");
  if (place == std::string_view::npos) return std::nullopt;
  const char* const end = name.data() + name.size();
  PythonVersion version;
  const auto major =
      std::from_chars(name.data() + place + std::strlen("python"), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  if (std::from_chars(major.ptr + 1, end, version.minor).ec != std::errc()) return std::nullopt;
  return version;
}

std::optional<std::uint64_t> python_section_of(const std::string& path) {
  Elf elf;
  if (!elf.open(path)) return std::nullopt;
  for (const Elf64_Shdr& section : elf.sections) {
    if (section.sh_name >= elf.names.size()) continue;
    if (std::string_view(elf.names.c_str() + section.sh_name) != ".PyRuntime") continue;
    const auto first = elf.first_address();
    if (!first || section.sh_addr < *first) return std::nullopt;
    return section.sh_addr - *first;
  }
  return std::nullopt;
}

FoundPython find_python(const ProcessMemory& memory, std::string_view maps,
                        const std::string& root) {
  FoundPython found;
  for (const MappedFile& file : python_files(maps)) {
    const auto section = python_section_of(root + file.path);
    if (!section) continue;
    PythonRuntime runtime;
    runtime.address = file.begin + *section;
    std::array<std::byte, kPythonDescriptionBytes> start{};
    if (!memory.read(runtime.address, start.data(), start.size())) continue;
    const auto described = described_python_version(start);
    const auto version = described ? described : python_version_of(file.path);
    if (!version) {
      found.why_not = file.path + ": its name does not show its Python version";
      continue;
    }
    const auto layout = described ? described_python_layout(start) : fixed_python_layout(*version);
    if (!layout) {
      const char* const kind =
          describes_free_threading(start) ? "free-threaded Python " : "Python ";
      found.why_not = kind + text_of(*version) + " is not supported: its stacks cannot be read";
      continue;
    }
    runtime.version = *version;
    runtime.layout = *layout;
    found.runtime = runtime;
    found.why_not.clear();
    return found;
  }
  return found;
}

}  // namespace stepscope
