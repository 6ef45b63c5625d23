#include "profiler/stacks/module_symbols.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <optional>
#include <utility>

#include "profiler/channel/owned_fd.h"
#include "profiler/stacks/libdw.h"

namespace stepscope {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

std::string readable(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, Free> demangled(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status));
  return status == 0 && demangled != nullptr ? short_function(demangled.get()) : symbol;
}

}  // namespace

namespace {

// Removes from the front of `text` the first of `words` that it begins with and returns it; "" if
// none.
template <std::size_t kCount>
std::string_view take(std::string_view& text, const std::array<std::string_view, kCount>& words) {
  for (const std::string_view word : words) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    return word;
  }
  return {};
}

// Parts of names that contain brackets or a space.
constexpr std::array<std::string_view, 12> kWhole = {"(anonymous namespace)",
                                                     "operator()",
                                                     "operator<=>",
                                                     "operator<<",
                                                     "operator<=",
                                                     "operator<",
                                                     "operator->",
                                                     "operator>>",
                                                     "operator>=",
                                                     "operator>",
                                                     "operator[]",
                                                     "operator "};
constexpr std::array<std::string_view, 5> kAfterParameters = {" const", " volatile", " &&", " &",
                                                              " noexcept"};

}  // namespace

std::string short_function(std::string_view demangled) {
  std::string kept;
  int depth = 0;
  for (std::string_view rest = demangled; !rest.empty();) {
    if (depth == 0) {
      const std::string_view whole = take(rest, kWhole);
      kept += whole;
      if (!whole.empty() && rest.starts_with(" <")) rest.remove_prefix(1);
      if (!whole.empty()) continue;
      if (rest.starts_with(" [clone ")) break;
    }
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '(' || c == '<' || c == '[') {
      ++depth;
    } else if (depth > 0 && c == '-' && rest.starts_with('>')) {
      rest.remove_prefix(1);
    } else if (c == ')' || c == '>' || c == ']') {
      if (--depth < 0) return std::string(demangled);
      if (c == ')' && depth == 0) {
        while (!take(rest, kAfterParameters).empty()) {
        }
      }
    } else if (depth == 0 && c == ' ') {
      kept.clear();  // that was the result of a template
    } else if (depth == 0) {
      kept += c;
    }
  }
  return kept.empty() ? std::string(demangled) : kept;
}

#ifdef STEPSCOPE_LIBDW

bool ModuleSymbols::are_supported() { return libdw() != nullptr; }

struct ModuleSymbols::Impl {
  // Ends of the names of sections: old compressed ones begin with ".zdebug_".
  static constexpr std::array<std::string_view, 4> kWithTexts = {"debug_info", "debug_types",
                                                                 "debug_str", "debug_line_str"};
  struct Segment {
    std::uint64_t offset, address, size;
  };
  struct Symbol {
    std::uint64_t address, size;
    const char* name;
  };

  const Libdw* dw = libdw();
  OwnedFd file;
  Elf* elf = nullptr;
  Dwarf* dwarf = nullptr;
  std::deque<std::string> ended;  // sections with a zero after them
  std::vector<Segment> segments;
  std::vector<Symbol> symbols;  // functions, by address

  Impl(const std::string& path, bool with_lines)
      : file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status{};
    if (dw == nullptr || !file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
      return;
    // Read, not mapped: with a mapping, a file truncated meanwhile would kill the recorder.
    elf = dw->elf_begin(file.get(), ELF_C_READ, nullptr);
    if (elf == nullptr) return;
    read_segments();
    read_symbols();
    if (!with_lines) return;
    end_texts();
    dwarf = dw->dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  }
  ~Impl() {
    if (dwarf != nullptr) dw->dwarf_end(dwarf);
    if (elf != nullptr) dw->elf_end(elf);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // libdw does not always check that a text ends before its section does (elfutils 0.188: the names
  // of folders, in dwarf_getsrclines()). Here a zero follows each section that holds texts.
  void end_texts() {
    std::size_t names = 0;
    if (dw->elf_getshdrstrndx(elf, &names) != 0) return;
    for (Elf_Scn* section = nullptr; (section = dw->elf_nextscn(elf, section)) != nullptr;) {
      GElf_Shdr header;
      if (dw->gelf_getshdr(section, &header) == nullptr) continue;
      const char* const found = dw->elf_strptr(elf, names, header.sh_name);
      const std::string_view name = found == nullptr ? "" : found;
      const auto is_end = [&](std::string_view end) { return name.ends_with(end); };
      if (std::ranges::none_of(kWithTexts, is_end)) continue;
      // libdw would do that next.
      if ((header.sh_flags & SHF_COMPRESSED) != 0) dw->elf_compress(section, 0, 0);
      if (name.starts_with(".zdebug_")) dw->elf_compress_gnu(section, 0, 0);
      // libdw takes one of the two, by its version.
      const void* copied = nullptr;  // the two may be one
      for (Elf_Data* data :
           {dw->elf_rawdata(section, nullptr), dw->elf_getdata(section, nullptr)}) {
        if (data == nullptr || data->d_buf == nullptr || data->d_size == 0) continue;
        const std::string_view bytes(static_cast<const char*>(data->d_buf), data->d_size);
        if (bytes.back() == 0) continue;
        if (data->d_buf != copied) ended.emplace_back(bytes);
        copied = data->d_buf;
        data->d_buf = ended.back().data();
      }
    }
  }

  void read_segments() {
    std::size_t count = 0;
    if (dw->elf_getphdrnum(elf, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (dw->gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) return;
      if (header.p_type == PT_LOAD)
        segments.push_back({header.p_offset, header.p_vaddr, header.p_filesz});
    }
  }

  void read_symbols() {
    for (const GElf_Word type : {GElf_Word{SHT_SYMTAB}, GElf_Word{SHT_DYNSYM}}) {
      for (Elf_Scn* section = nullptr; (section = dw->elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (dw->gelf_getshdr(section, &header) == nullptr || header.sh_type != type) continue;
        add_symbols(section, header);
      }
      if (!symbols.empty()) break;  // the full symbol table includes the exported ones
    }
    std::ranges::sort(symbols, {}, &Symbol::address);
  }

  void add_symbols(Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* const data = dw->elf_getdata(section, nullptr);
    if (data == nullptr) return;
    GElf_Sym symbol;
    for (int i = 0; dw->gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      const auto type = GELF_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_value == 0) continue;
      const char* name = dw->elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name != nullptr) symbols.push_back({symbol.st_value, symbol.st_size, name});
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> address_of(std::uint64_t offset) const {
    for (const Segment& segment : segments) {
      if (offset >= segment.offset && offset - segment.offset < segment.size)
        return segment.address + (offset - segment.offset);
    }
    return std::nullopt;
  }

  [[nodiscard]] NativeFrame by_symbol(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(symbols, address, {}, &Symbol::address);
    if (after == symbols.begin()) return {};
    const Symbol& symbol = *std::prev(after);
    // Some functions written in assembly have no size.
    if (symbol.size != 0 && address - symbol.address >= symbol.size) return {};
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), address - symbol.address, 16).ptr;
    return {readable(symbol.name) + "+0x" + std::string(digits.begin(), end), "", 0};
  }

  // Finds the unit whose code contains `address`.
  bool find_unit(std::uint64_t address, Dwarf_Die& unit) const {
    if (dw->dwarf_addrdie(dwarf, address, &unit) != nullptr) return true;
    // Clang writes no address table for its units.
    Dwarf_Off offset = 0, next = 0;
    std::size_t header_size = 0;
    while (dw->dwarf_nextcu(dwarf, offset, &next, &header_size, nullptr, nullptr, nullptr) == 0) {
      if (dw->dwarf_offdie(dwarf, offset + header_size, &unit) != nullptr &&
          dw->dwarf_haspc(&unit, address) == 1) {
        return true;
      }
      offset = next;
    }
    return false;
  }

  [[nodiscard]] const char* text(Dwarf_Die& die, unsigned attribute) const {
    Dwarf_Attribute found;
    return dw->dwarf_formstring(dw->dwarf_attr_integrate(&die, attribute, &found));
  }

  [[nodiscard]] std::string function_of(Dwarf_Die& die) const {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
      if (const char* symbol = text(die, attribute)) return readable(symbol);
    }
    const char* name = dw->dwarf_diename(&die);
    return name == nullptr ? "" : name;
  }

  [[nodiscard]] std::string whole_path(Dwarf_Die& unit, const char* path) const {
    if (path == nullptr) return "";
    const char* folder = *path == '/' ? nullptr : text(unit, DW_AT_comp_dir);
    const std::filesystem::path named(path);
    return (folder == nullptr ? named : folder / named).lexically_normal().string();
  }

  // Sets `frame` to the place where the inlined function `inlined` was called.
  void set_call(Dwarf_Die& unit, Dwarf_Die& inlined, NativeFrame& frame) const {
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    frame.line = 0;
    if (dw->dwarf_formudata(dw->dwarf_attr(&inlined, DW_AT_call_line, &attribute), &number) == 0)
      frame.line = static_cast<int>(std::min<Dwarf_Word>(number, 1U << 30));
    if (dw->dwarf_getsrcfiles(&unit, &files, &count) != 0 ||
        dw->dwarf_formudata(dw->dwarf_attr(&inlined, DW_AT_call_file, &attribute), &number) != 0 ||
        number >= count) {
      return;
    }
    frame.file = whole_path(unit, dw->dwarf_filesrc(files, number, nullptr, nullptr));
  }

  // Empty if there is no debug information for `address`.
  [[nodiscard]] std::vector<NativeFrame> by_lines(std::uint64_t address) const {
    std::vector<NativeFrame> frames;
    Dwarf_Die unit;
    if (dwarf == nullptr || !find_unit(address, unit)) return frames;
    Dwarf_Line* const line = dw->dwarf_getsrc_die(&unit, address);
    int number = 0;
    if (line == nullptr || dw->dwarf_lineno(line, &number) != 0 || number <= 0) return frames;
    NativeFrame next{"", whole_path(unit, dw->dwarf_linesrc(line, nullptr, nullptr)), number};
    add_scopes(unit, address, next, frames);
    if (!frames.empty()) return frames;
    // There are only line tables, as clang's -gline-tables-only may write them.
    next.function = by_symbol(address).function;
    next.function.resize(std::min(next.function.size(), next.function.rfind("+0x")));
    return {next};
  }

  void add_scopes(Dwarf_Die& unit, std::uint64_t address, NativeFrame& next,
                  std::vector<NativeFrame>& frames) const {
    Dwarf_Die* innermost = nullptr;
    const int found = dw->dwarf_getscopes(&unit, address, &innermost);
    const std::unique_ptr<Dwarf_Die, Free> owned(innermost);
    if (found <= 0) return;
    // dwarf_getscopes() gives the scopes around an inlined function's definition; these are those
    // around its call.
    Dwarf_Die* around = nullptr;
    const int count = dw->dwarf_getscopes_die(innermost, &around);
    const std::unique_ptr<Dwarf_Die, Free> owned_too(around);
    for (int i = 0; i < count; ++i) {
      const int tag = dw->dwarf_tag(&around[i]);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      next.function = function_of(around[i]);
      frames.push_back(next);
      if (tag == DW_TAG_subprogram) return;
      set_call(unit, around[i], next);
    }
  }
};

ModuleSymbols::ModuleSymbols(const std::string& path, bool with_lines)
    : impl_(std::make_unique<Impl>(path, with_lines)) {}

std::vector<NativeFrame> ModuleSymbols::at(std::uint64_t offset) const {
  const auto address = impl_->address_of(offset);
  if (!address) return {NativeFrame{}};
  std::vector<NativeFrame> frames = impl_->by_lines(*address);
  if (frames.empty()) frames.push_back(impl_->by_symbol(*address));
  return frames;
}

#else

bool ModuleSymbols::are_supported() { return false; }

struct ModuleSymbols::Impl {};

ModuleSymbols::ModuleSymbols(const std::string&, bool) {}

std::vector<NativeFrame> ModuleSymbols::at(std::uint64_t) const { return {NativeFrame{}}; }

#endif

ModuleSymbols::~ModuleSymbols() = default;

}  // namespace stepscope
