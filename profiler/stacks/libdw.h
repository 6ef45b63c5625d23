// The functions of elfutils' libdw and libelf that Stepscope uses. Both are loaded when they are
// first needed, so neither the recorder nor a program requires them to be installed.
#pragma once

#ifdef STEPSCOPE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

namespace stepscope {

struct Libdw {
  decltype(&::elf_version) elf_version;
  decltype(&::elf_begin) elf_begin;
  decltype(&::elf_end) elf_end;
  decltype(&::elf_nextscn) elf_nextscn;
  decltype(&::elf_getdata) elf_getdata;
  decltype(&::elf_rawdata) elf_rawdata;
  decltype(&::elf_compress) elf_compress;
  decltype(&::elf_compress_gnu) elf_compress_gnu;
  decltype(&::elf_getshdrstrndx) elf_getshdrstrndx;
  decltype(&::elf_strptr) elf_strptr;
  decltype(&::elf_getphdrnum) elf_getphdrnum;
  decltype(&::gelf_getphdr) gelf_getphdr;
  decltype(&::gelf_getshdr) gelf_getshdr;
  decltype(&::gelf_getsym) gelf_getsym;
  decltype(&::dwarf_begin_elf) dwarf_begin_elf;
  decltype(&::dwarf_end) dwarf_end;
  decltype(&::dwarf_addrdie) dwarf_addrdie;
  decltype(&::dwarf_nextcu) dwarf_nextcu;
  decltype(&::dwarf_offdie) dwarf_offdie;
  decltype(&::dwarf_haspc) dwarf_haspc;
  decltype(&::dwarf_tag) dwarf_tag;
  decltype(&::dwarf_diename) dwarf_diename;
  decltype(&::dwarf_getscopes) dwarf_getscopes;
  decltype(&::dwarf_getscopes_die) dwarf_getscopes_die;
  decltype(&::dwarf_attr) dwarf_attr;
  decltype(&::dwarf_attr_integrate) dwarf_attr_integrate;
  decltype(&::dwarf_formstring) dwarf_formstring;
  decltype(&::dwarf_formudata) dwarf_formudata;
  decltype(&::dwarf_getsrcfiles) dwarf_getsrcfiles;
  decltype(&::dwarf_filesrc) dwarf_filesrc;
  decltype(&::dwarf_getsrc_die) dwarf_getsrc_die;
  decltype(&::dwarf_linesrc) dwarf_linesrc;
  decltype(&::dwarf_lineno) dwarf_lineno;
};

// Returns nullptr if they are not installed. Thread safety: any thread.
const Libdw* libdw();

}  // namespace stepscope

#endif
