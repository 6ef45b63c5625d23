#include "profiler/stacks/libdw.h"

#ifdef STEPSCOPE_LIBDW

#include <dlfcn.h>

#include <optional>

namespace stepscope {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<Libdw> load() {
  // libelf comes with it.
  void* const library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Libdw dw{};
#define STEPSCOPE_FIND(name) find(library, #name, dw.name)
  const bool complete =
      STEPSCOPE_FIND(elf_version) && STEPSCOPE_FIND(elf_begin) && STEPSCOPE_FIND(elf_end) &&
      STEPSCOPE_FIND(elf_nextscn) && STEPSCOPE_FIND(elf_getdata) && STEPSCOPE_FIND(elf_strptr) &&
      STEPSCOPE_FIND(elf_rawdata) && STEPSCOPE_FIND(elf_compress) &&
      STEPSCOPE_FIND(elf_compress_gnu) && STEPSCOPE_FIND(elf_getshdrstrndx) &&
      STEPSCOPE_FIND(elf_getphdrnum) && STEPSCOPE_FIND(gelf_getphdr) &&
      STEPSCOPE_FIND(gelf_getshdr) && STEPSCOPE_FIND(gelf_getsym) &&
      STEPSCOPE_FIND(dwarf_begin_elf) && STEPSCOPE_FIND(dwarf_end) &&
      STEPSCOPE_FIND(dwarf_addrdie) && STEPSCOPE_FIND(dwarf_nextcu) &&
      STEPSCOPE_FIND(dwarf_offdie) && STEPSCOPE_FIND(dwarf_haspc) && STEPSCOPE_FIND(dwarf_tag) &&
      STEPSCOPE_FIND(dwarf_diename) && STEPSCOPE_FIND(dwarf_getscopes) &&
      STEPSCOPE_FIND(dwarf_getscopes_die) && STEPSCOPE_FIND(dwarf_attr) &&
      STEPSCOPE_FIND(dwarf_attr_integrate) && STEPSCOPE_FIND(dwarf_formstring) &&
      STEPSCOPE_FIND(dwarf_formudata) && STEPSCOPE_FIND(dwarf_getsrcfiles) &&
      STEPSCOPE_FIND(dwarf_filesrc) && STEPSCOPE_FIND(dwarf_getsrc_die) &&
      STEPSCOPE_FIND(dwarf_linesrc) && STEPSCOPE_FIND(dwarf_lineno);
#undef STEPSCOPE_FIND
  if (!complete) return std::nullopt;
  dw.elf_version(EV_CURRENT);
  return dw;
}

}  // namespace

const Libdw* libdw() {
  static const std::optional<Libdw> loaded = load();
  return loaded ? &*loaded : nullptr;
}

}  // namespace stepscope

#endif
