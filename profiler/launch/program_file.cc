#include "profiler/launch/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace stepscope {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr Elf64_Half kOwnMachine = EM_X86_64;
constexpr Elf64_Half k32BitMachine = EM_386;
#elif defined(__aarch64__)
constexpr Elf64_Half kOwnMachine = EM_AARCH64;
constexpr Elf64_Half k32BitMachine = EM_ARM;
#endif

constexpr int kMaxInterpreters = 4;  // the kernel's own limit for nested interpreters

Status not_found(const std::string& name) {
  return Status::error(ErrorKind::kNotFound, name + ": no such program; is it in PATH?");
}

// As the kernel will see it: access() leaves out capabilities. Filters of containers that are older
// than the call refuse it with EPERM, whatever the file.
bool allows(const fs::path& path, int mode) {
  if (faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0) return true;
  return errno == EPERM && access(path.c_str(), mode) == 0;
}

bool can_be_executed(const fs::path& path) { return allows(path, X_OK) && !fs::is_directory(path); }

Result<fs::path> find_in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (!allows(name, F_OK)) {
      if (errno != EACCES) return not_found(name);
      return Status::error(ErrorKind::kBadInput,
                           name + ": cannot be reached: you may not enter one of its folders");
    }
    if (!can_be_executed(name)) {
      return Status::error(ErrorKind::kBadInput,
                           name + ": cannot be executed; chmod +x, or name its interpreter");
    }
    return fs::path(name);
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/bin:/bin" : variable;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const fs::path path = fs::path(folder.empty() ? "." : std::string(folder)) / name;
    if (can_be_executed(path)) return path;
    if (colon == std::string_view::npos) return not_found(name);
    rest.remove_prefix(colon + 1);
  }
}

// Reads parts of a file at any offset; returns false past its end.
class File {
 public:
  explicit File(const fs::path& path) : stream_(path, std::ios::binary) {}
  template <typename T>
  bool read(std::uint64_t at, T& value) {
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(at));
    stream_.read(reinterpret_cast<char*>(&value), sizeof(value));
    return stream_.gcount() == sizeof(value);
  }
  std::string text(std::uint64_t at, std::size_t most) {
    std::string text(most, '\0');
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(at));
    stream_.read(text.data(), static_cast<std::streamsize>(most));
    text.resize(static_cast<std::size_t>(stream_.gcount()));
    return text;
  }

 private:
  std::ifstream stream_;
};

// Nothing if the file ends before them.
std::optional<std::vector<Elf64_Phdr>> program_headers(File& file, const Elf64_Ehdr& elf) {
  std::vector<Elf64_Phdr> headers(elf.e_phnum);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (!file.read(elf.e_phoff + i * sizeof(Elf64_Phdr), headers[i])) return std::nullopt;
  }
  return headers;
}

// Converts a virtual address to a file offset.
std::uint64_t offset_of(const std::vector<Elf64_Phdr>& headers, std::uint64_t address) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD && header.p_vaddr <= address &&
        address < header.p_vaddr + header.p_filesz) {
      return address - header.p_vaddr + header.p_offset;
    }
  }
  return 0;
}

std::vector<std::string> needed_libraries(File& file, const std::vector<Elf64_Phdr>& headers) {
  std::vector<std::uint64_t> names;
  std::uint64_t strings = 0;
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= header.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry{};
      if (!file.read(header.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) strings = offset_of(headers, entry.d_un.d_ptr);
    }
  }
  std::vector<std::string> libraries;
  for (const std::uint64_t name : names) {
    libraries.emplace_back(file.text(strings + name, 256).c_str());
  }
  return libraries;
}

// Whether this is a 32-bit program that the kernel may be able to run. x32 programs name the 64-bit
// machine.
bool is_32_bit(File& file) {
  Elf32_Ehdr elf{};
  return file.read(0, elf) && elf.e_ident[EI_CLASS] == ELFCLASS32 &&
         (elf.e_machine == k32BitMachine || elf.e_machine == kOwnMachine);
}

// musl's loader has no symbols of glibc, which our library needs.
bool is_musl_loader(const fs::path& loader) {
  return loader.filename().string().starts_with("ld-musl");
}

Status cut_off(const std::string& name) {
  return Status::error(
      ErrorKind::kBadInput,
      name + ": damaged: the file ends within its headers; copy or build it again");
}

Result<ProgramFile> inspect_elf(const std::string& name, const fs::path& path, File& file) {
  if (is_32_bit(file)) {
    ProgramFile program{.path = path};
    program.foreign = "32-bit";
    return program;
  }
  Elf64_Ehdr elf{};
  if (!file.read(0, elf)) return cut_off(name);
  if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != kOwnMachine) {
    return Status::error(ErrorKind::kBadInput,
                         name + ": built for another kind of machine than this Stepscope");
  }
  const auto headers = program_headers(file, elf);
  if (!headers) return cut_off(name);
  ProgramFile program{.path = path, .is_static = true};
  for (const Elf64_Phdr& header : *headers) {
    if (header.p_type != PT_INTERP) continue;
    program.is_static = false;
    const std::string loader =
        file.text(header.p_offset, std::min<std::size_t>(header.p_filesz, 256));
    if (is_musl_loader(loader.c_str())) program.foreign = "linked with musl";
  }
  for (const std::string& library : needed_libraries(file, *headers)) {
    if (library.starts_with("libasan.so") || library.starts_with("libtsan.so")) {
      program.sanitizer = library;
    }
  }
  return program;
}

// "#!/usr/bin/env python3" and "#!/usr/bin/python3 -u": the interpreter.
std::string interpreter_of(const std::string& head) {
  const std::string line = head.substr(2, head.find('\n') - 2);
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

// Windows ends lines with a carriage return; to the kernel, it is part of the interpreter's name.
Status no_interpreter(const std::string& script, const std::string& interpreter) {
  const bool windows = interpreter.ends_with('\r');
  const std::string shown =
      windows ? interpreter.substr(0, interpreter.size() - 1) + "\\r" : interpreter;
  return Status::error(ErrorKind::kNotFound,
                       script + ": its interpreter " + shown + " does not exist; " +
                           (windows ? "remove the carriage return (\\r) from the end of each line"
                                    : "correct its first line"));
}

// The kernel does not look for it in PATH.
Status check_interpreter(const std::string& script, const std::string& interpreter) {
  if (access(interpreter.c_str(), F_OK) != 0) return no_interpreter(script, interpreter);
  if (can_be_executed(interpreter)) return {};
  return Status::error(ErrorKind::kBadInput, script + ": its interpreter " + interpreter +
                                                 " cannot be executed; correct its first line");
}

}  // namespace

Result<ProgramFile> inspect_program(const std::string& name) {
  const auto program_path = find_in_path(name);
  if (!program_path.ok()) return program_path.status();
  fs::path path = *program_path;
  std::string shown = name;
  for (int depth = 0; depth <= kMaxInterpreters; ++depth) {
    File file(path);
    const std::string head = file.text(0, 256);
    if (head.starts_with(ELFMAG)) {
      auto program = inspect_elf(shown, path, file);
      if (program.ok()) program->path = *program_path;
      return program;
    }
    if (!head.starts_with("#!")) return ProgramFile{.path = path};  // for the shell to run
    const std::string interpreter = interpreter_of(head);
    if (interpreter.empty()) break;
    if (Status status = check_interpreter(shown, interpreter); !status.ok()) return status;
    path = shown = interpreter;
  }
  return Status::error(ErrorKind::kBadInput, name + ": a script without an interpreter");
}

}  // namespace stepscope
