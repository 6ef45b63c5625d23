// Which programs can be recorded, as their ELF headers tell.
#include "profiler/launch/program_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "profiler/launch/child.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64, k32BitMachine = EM_386, kOther = EM_AARCH64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64, k32BitMachine = EM_ARM, kOther = EM_X86_64;
#endif

class ProgramFileTest : public ::testing::Test {
 protected:
  // A program that consists of its headers.
  template <typename Ehdr, typename Phdr>
  Result<ProgramFile> inspect(unsigned char bits, Elf64_Half machine, const std::string& loader) {
    Ehdr elf{};
    std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_ident[EI_CLASS] = bits;
    elf.e_machine = machine;
    elf.e_phoff = sizeof(elf);
    elf.e_phnum = loader.empty() ? 0 : 1;
    Phdr interpreter{};
    interpreter.p_type = PT_INTERP;
    interpreter.p_offset = sizeof(elf) + sizeof(interpreter);
    interpreter.p_filesz = static_cast<decltype(interpreter.p_filesz)>(loader.size() + 1);
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&elf), sizeof(elf));
    file.write(reinterpret_cast<const char*>(&interpreter), sizeof(interpreter));
    file.write(loader.c_str(), static_cast<std::streamsize>(loader.size() + 1));
    file.close();
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    return inspect_program(path_);
  }
  Result<ProgramFile> inspect_64(const std::string& loader) {
    return inspect<Elf64_Ehdr, Elf64_Phdr>(ELFCLASS64, kMachine, loader);
  }

  const testing::TempDir dir_;
  const std::string path_ = (dir_ / "program").string();
};

TEST_F(ProgramFileTest, OfGlibcIsRecorded) {
  const auto program = inspect_64("/lib64/ld-linux-x86-64.so.2");
  ASSERT_TRUE(program.ok());
  EXPECT_FALSE(program->is_static);
  EXPECT_EQ(program->foreign, "");
  EXPECT_FALSE(environment_for(*program, "socket", "library", "folder").empty());
}

// PYTHONPATH with `room` bytes less than the kernel allows in one variable. Returns whether
// Python's hooks are added to it.
bool adds_python_hooks(std::size_t room) {
  const std::string name = "PYTHONPATH";
  const auto longest = static_cast<std::size_t>(32 * sysconf(_SC_PAGESIZE)) - name.size() - 2;
  setenv(name.c_str(), std::string(longest - room, 'x').c_str(), 1);
  const Environment environment = environment_for({}, "socket", "library", "folder");
  unsetenv(name.c_str());
  EXPECT_THAT(environment, Contains(Pair("LD_PRELOAD", HasSubstr("library"))));
  return std::ranges::any_of(environment, [&](const auto& each) { return each.first == name; });
}

TEST_F(ProgramFileTest, PythonHooksAreAddedAsLongAsTheyFit) {
  const std::size_t needed = std::string("folder:").size();
  EXPECT_TRUE(adds_python_hooks(needed));
  EXPECT_FALSE(adds_python_hooks(needed - 1));
}

TEST_F(ProgramFileTest, WithoutALoaderIsStatic) {
  const auto program = inspect_64("");
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(program->is_static);
}

// Its loader finds none of glibc's symbols, and would end the program.
TEST_F(ProgramFileTest, OfMuslGetsNothingPreloaded) {
  const auto program = inspect_64("/lib/ld-musl-x86_64.so.1");
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->foreign, "linked with musl");
  EXPECT_TRUE(environment_for(*program, "socket", "library", "folder").empty());
}

// Its ld.so would complain of a 64-bit library in the program's output.
TEST_F(ProgramFileTest, Of32BitsGetsNothingPreloaded) {
  const auto program =
      inspect<Elf32_Ehdr, Elf32_Phdr>(ELFCLASS32, k32BitMachine, "/lib/ld-linux.so.2");
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->foreign, "32-bit");
  EXPECT_TRUE(environment_for(*program, "socket", "library", "folder").empty());
}

TEST_F(ProgramFileTest, ThatIsCutOffIsSaidToBe) {
  for (const std::size_t length :
       {std::size_t{5}, sizeof(Elf64_Ehdr) - 1, sizeof(Elf64_Ehdr) + 1}) {
    ASSERT_TRUE(inspect_64("/lib64/ld-linux-x86-64.so.2").ok());
    std::filesystem::resize_file(path_, length);
    const Status status = inspect_program(path_).status();
    EXPECT_EQ(status.kind(), ErrorKind::kBadInput) << length;
    EXPECT_THAT(status.message(), StartsWith(path_ + ": damaged: the file ends")) << length;
  }
}

class ScriptTest : public ProgramFileTest {
 protected:
  Status inspect(const std::string& script) {
    std::ofstream(path_) << script;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    return inspect_program(path_).status();
  }
};

TEST_F(ScriptTest, NamesTheInterpreterThatIsMissing) {
  for (const std::string missing : {"/no/such/interpreter", "sh"}) {  // PATH is not searched
    const Status status = inspect("#!" + missing + " -x\n");
    EXPECT_EQ(status.kind(), ErrorKind::kNotFound);
    EXPECT_THAT(status.message(),
                HasSubstr(path_ + ": its interpreter " + missing + " does not exist"));
  }
}

TEST_F(ScriptTest, ShowsTheCarriageReturnThatIsTooMuch) {
  const Status status = inspect("#!/bin/sh\r\necho hello\r\n");
  EXPECT_EQ(status.kind(), ErrorKind::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("its interpreter /bin/sh\\r does not exist; remove"));
}

TEST_F(ScriptTest, NamesTheInterpreterThatCannotBeExecuted) {
  const Status status = inspect("#! /etc/passwd\n");
  EXPECT_EQ(status.kind(), ErrorKind::kBadInput);
  EXPECT_THAT(status.message(), HasSubstr(path_ + ": its interpreter /etc/passwd cannot be"));
}

TEST_F(ScriptTest, WithAnInterpreterIsRecorded) {
  EXPECT_TRUE(inspect("#!/bin/sh -e\necho hello\n").ok());
}

TEST_F(ProgramFileTest, OfAnotherMachineIsRefused) {
  for (const int bits : {ELFCLASS32, ELFCLASS64}) {
    const auto program =
        inspect<Elf64_Ehdr, Elf64_Phdr>(static_cast<unsigned char>(bits), kOther, "/lib/ld.so");
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.status().kind(), ErrorKind::kBadInput);
  }
}

}  // namespace
}  // namespace stepscope
